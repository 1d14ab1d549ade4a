//! `GET wallets/{wallet_id}`.

use vestry_domain::api_key::Scope;
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::{StoredWallet, Wallet};
use vestry_ports::custody::CustodyError;

use crate::{Caller, Fault, Refusal, Service};

impl Service {
    /// Reads a wallet.
    ///
    /// # Errors
    /// [`Refusal`]; a row or key that somebody edited or moved by hand is a [`Fault`] (T1, T6).
    pub async fn get_wallet(&self, caller: &Caller, id: WalletId) -> Result<Wallet, Refusal> {
        caller.require(Scope::WalletsRead)?;
        let mut read = self.ports.store.read().await?;
        let found = read.wallets().find_with_key(&caller.world, id).await?;
        drop(read);
        let (stored, key) = found.ok_or(Refusal::NotFound("wallet"))?;
        let Some(key) = key else {
            return Ok(self.keyless(stored).await?);
        };
        let wallet = stored.wallet.clone();
        // The key is tried too: a wallet whose key was swapped for another must not look well.
        self.ports.custodian.verify_wallet(stored, key).await?;
        Ok(wallet)
    }

    /// A wallet that is only looked at. One that ought to have a key and has none was robbed of it behind our back.
    pub(crate) async fn keyless(&self, stored: StoredWallet) -> Result<Wallet, Fault> {
        let wallet = self.ports.custodian.authenticate(stored).await?;
        if wallet.is_read_only {
            return Ok(wallet);
        }
        // Its key was taken out of the database.
        let place = "wallet key";
        Err(CustodyError::Tampered { place }.into())
    }
}
