//! `GET wallets/{wallet_id}`.

use vestry_domain::api_key::Scope;
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::Wallet;

use crate::{Caller, Fault, NotAllowed, Service};

/// Why a wallet was not shown.
#[derive(Debug, thiserror::Error)]
pub enum GetWalletError {
    /// See [`NotAllowed`].
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// No such wallet in this world.
    #[error("the wallet does not exist")]
    NotFound,
    /// See [`Fault`]; a row that somebody edited by hand is refused as one (T6).
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Service {
    /// Reads a wallet.
    ///
    /// # Errors
    /// [`GetWalletError`].
    pub async fn get_wallet(
        &self,
        caller: &Caller,
        id: WalletId,
    ) -> Result<Wallet, GetWalletError> {
        caller.require(Scope::WalletsRead)?;
        let mut read = self.ports.store.read().await.map_err(Fault::from)?;
        let stored = read
            .wallets()
            .find(&caller.world, id)
            .await
            .map_err(Fault::from)?;
        drop(read);
        let stored = stored.ok_or(GetWalletError::NotFound)?;
        Ok(self
            .ports
            .custodian
            .authenticate(stored)
            .await
            .map_err(Fault::from)?)
    }
}
