//! `wallets/{wallet_id}/sign_transaction`.

use serde_json::Value;
use vestry_domain::Invalid;
use vestry_domain::ids::WalletId;
use vestry_domain::signing::{SigningRefused, SigningRequest};
use vestry_domain::wallet::WalletType;

use super::SigningCommand;

/// Signs a transaction of the wallet's chain. It is not broadcast.
#[derive(Clone)]
pub struct SignTransaction {
    /// The wallet.
    pub wallet_id: WalletId,
    /// The transactions in the request, each with the chain of its field.
    pub transactions: Vec<(WalletType, Value)>,
}

impl SigningCommand for SignTransaction {
    fn wallet_id(&self) -> WalletId {
        self.wallet_id
    }

    fn request(&self, wallet_type: WalletType) -> Result<SigningRequest, SigningRefused> {
        the_one(wallet_type, &self.transactions)
    }
}

/// Returns the transaction of the wallet's chain if it is the only one. With two, the caller would expect a signature that is not made.
fn the_one(
    wallet_type: WalletType,
    transactions: &[(WalletType, Value)],
) -> Result<SigningRequest, SigningRefused> {
    let field = wallet_type.transaction_field();
    let mut fitting = None;
    for (of, transaction) in transactions {
        if *of != wallet_type {
            let message = format!("wallets of type {wallet_type} can only sign {field}");
            return Err(Invalid::value(of.transaction_field(), message).into());
        }
        fitting = Some(transaction);
    }
    let transaction = fitting.ok_or_else(|| Invalid::missing(field))?;
    Ok(SigningRequest::Transaction(transaction.clone()))
}
