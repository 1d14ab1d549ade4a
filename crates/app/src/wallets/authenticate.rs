//! Authentication of wallet rows.

use vestry_domain::wallet::{StoredWallet, Wallet};
use vestry_ports::custody::Custodian;

use crate::Fault;

/// Checks the keyed hash of each row and returns the wallets in the same order.
pub(crate) async fn authenticate_wallets(
    custodian: &dyn Custodian,
    stored: Vec<StoredWallet>,
) -> Result<Vec<Wallet>, Fault> {
    let mut wallets = Vec::with_capacity(stored.len());
    for wallet in stored {
        wallets.push(custodian.authenticate(wallet).await?);
    }
    Ok(wallets)
}
