//! Check that the key of a wallet may be used, before signing and exporting.

use vestry_domain::envelope::WalletKey;
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::{StoredWallet, Wallet};

use crate::kernel::replay_guard::ReplayGuard;
use crate::kernel::run::About;
use crate::{Caller, Fault, Service};

/// A wallet and its key, neither authenticated yet.
pub(crate) struct UsableWallet {
    pub(super) stored: StoredWallet,
    pub(super) key: WalletKey,
}

/// Reason why the key cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnusableWallet {
    /// The wallet does not exist in this environment.
    #[error("the wallet does not exist")]
    NotFound,
    /// The wallet's key is held elsewhere.
    #[error("the wallet is read-only")]
    ReadOnly,
    /// The wallet is disabled; its key cannot be exported either.
    #[error("the wallet is disabled")]
    Disabled,
}

impl Service {
    /// Returns the current wallet.
    ///
    /// A rejected wallet is authenticated first, so that someone who writes to the database cannot determine the response, and tampering is
    /// recorded.
    pub(crate) async fn usable_wallet(
        &self,
        caller: &Caller,
        id: WalletId,
    ) -> Result<Result<UsableWallet, UnusableWallet>, Fault> {
        self.require_anchor().await?;
        let wanted = (caller.world, id);
        let (stored, key) = match self.find(&self.wallets_to_use, wanted).await {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(Err(UnusableWallet::NotFound)),
            Err(fault) => return Err(self.noted(caller, id, fault).await),
        };
        let Some(key) = key.filter(|_| !stored.wallet.is_read_only) else {
            return match self.keyless(stored).await {
                Ok(_) => Ok(Err(UnusableWallet::ReadOnly)),
                Err(fault) => Err(self.noted(caller, id, fault).await),
            };
        };
        if stored.wallet.disabled.is_some() {
            self.authenticated(caller, stored).await?;
            return Ok(Err(UnusableWallet::Disabled));
        }
        caller.record_guard(ReplayGuard::Usable(id));
        caller.is_about(About::User(stored.wallet.user_id));
        Ok(Ok(UsableWallet { stored, key }))
    }

    /// Authenticates the row of a wallet, and records a failure.
    pub(super) async fn authenticated(
        &self,
        caller: &Caller,
        stored: StoredWallet,
    ) -> Result<Wallet, Fault> {
        let id = stored.wallet.id;
        match self.ports.custodian.authenticate(stored).await {
            Ok(wallet) => Ok(wallet),
            Err(error) => Err(self.noted(caller, id, error).await),
        }
    }
}
