//! Check that the key of a wallet may be used, before signing and exporting.

use vestry_domain::envelope::WalletKey;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::token::TokenHash;
use vestry_domain::wallet::{StoredWallet, Wallet};

use crate::kernel::replay_guard::ReplayGuard;
use crate::kernel::run::About;
use crate::{Caller, Fault, Refusal, Service};

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

/// The user who is present at the use of a wallet, for keys that require one.
enum Present {
    /// The key does not require it.
    NotRequired,
    /// The user of the presented session, if it is live.
    User(Option<UserId>),
}

impl Present {
    fn require(self, caller: &Caller, owner: UserId) -> Result<(), Refusal> {
        match self {
            Self::NotRequired => Ok(()),
            Self::User(user) if user == Some(owner) => Ok(()),
            Self::User(_) => {
                caller.note_restricted();
                Err(Refusal::InvalidSession)
            }
        }
    }
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
    ) -> Result<Result<UsableWallet, UnusableWallet>, Refusal> {
        self.require_anchor().await?;
        let wanted = (caller.world, id);
        let (found, present) = tokio::join!(
            self.find(&self.wallets_to_use, wanted),
            self.present_user(caller)
        );
        let found = match found {
            Ok(found) => found.filter(|(stored, _)| caller.reaches_stored(stored)),
            Err(fault) => return Err(self.noted(caller, id, fault).await.into()),
        };
        let Some((stored, key)) = found else {
            return Ok(Err(UnusableWallet::NotFound));
        };
        caller.uses_wallet_type(stored.wallet.wallet_type)?;
        caller.record_guard(ReplayGuard::Present(stored.wallet.user_id));
        present?.require(caller, stored.wallet.user_id)?;
        let Some(key) = key.filter(|_| !stored.wallet.is_read_only) else {
            return match self.keyless(stored).await {
                Ok(_) => Ok(Err(UnusableWallet::ReadOnly)),
                Err(fault) => Err(self.noted(caller, id, fault).await.into()),
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

    /// Requires that this user is present, if the key does.
    ///
    /// # Errors
    /// [`Refusal::InvalidSession`].
    pub(crate) async fn require_present(
        &self,
        caller: &Caller,
        owner: UserId,
    ) -> Result<(), Refusal> {
        self.present_user(caller).await?.require(caller, owner)
    }

    /// The user of the live session that a call presents in `Vestry-Session`, if its key requires one.
    ///
    /// Presenting a session here is not activity: it does not postpone the idle timeout.
    async fn present_user(&self, caller: &Caller) -> Result<Present, Fault> {
        let Some(token) = caller.required_session() else {
            return Ok(Present::NotRequired);
        };
        let Some(token) = token else {
            return Ok(Present::User(None));
        };
        let named = (caller.world, TokenHash::of(token.expose()));
        let found = self.find(&self.presented_sessions, named).await?;
        let (limits, now) = (caller.settings().session_limits(), self.now(&caller.world));
        let session = found.filter(|session| session.is_alive(limits, now));
        Ok(Present::User(session.map(|session| session.user_id)))
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
