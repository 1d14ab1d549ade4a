//! `wallets/{wallet_id}/sign_message`, `sign_transaction` and `rpc`: what the three have in common.

use vestry_domain::api_key::Scope;
use vestry_domain::ids::WalletId;
use vestry_domain::signing::{Signed, SigningRefused, SigningRequest};
use vestry_domain::wallet::{Wallet, WalletType};
use vestry_ports::custody::CustodyError;
use vestry_ports::store::SeenWallet;

use super::UnusableWallet;
use super::known::KnownWallet;
use super::usable::UsableWallet;
use crate::give_way::give_way;
use crate::{Caller, Fault, NotAllowed, Service};

/// What a wallet signed; every signature was verified against its public key.
#[derive(Debug, Clone)]
pub struct SignedByWallet {
    /// The wallet.
    pub wallet: Wallet,
    /// Signatures and what belongs to them.
    pub signed: Signed,
}

/// Why nothing was signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// See [`NotAllowed`].
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// The request was refused.
    #[error(transparent)]
    Refused(#[from] SigningRefused),
    /// See [`UnusableWallet`].
    #[error(transparent)]
    Unusable(#[from] UnusableWallet),
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// A call that has a wallet sign.
pub trait SigningCommand: Send + Sync {
    /// The wallet.
    fn wallet_id(&self) -> WalletId;

    /// What a wallet of this type is asked to sign.
    ///
    /// # Errors
    /// [`SigningRefused`] when wallets of the type sign no such thing.
    fn request(&self, wallet_type: WalletType) -> Result<SigningRequest, SigningRefused>;
}

impl Service {
    /// Has a wallet sign.
    ///
    /// # Errors
    /// [`SignError`]; nothing is signed then.
    pub async fn sign(
        &self,
        caller: &Caller,
        command: impl SigningCommand,
    ) -> Result<SignedByWallet, SignError> {
        // Before the wallet is read: what is read is then as old as it is said to be, or younger.
        let now = self.machine_time();
        if let Some(signed) = self.sign_at_once(caller, &command).await? {
            return Ok(signed);
        }
        let wallet_id = command.wallet_id();
        let usable = self.usable_wallet(caller, wallet_id).await??;
        let UsableWallet { stored, key, state } = usable;
        let request = match command.request(stored.wallet.wallet_type) {
            Ok(request) => request,
            Err(refused) => {
                // The type is what the database says, too.
                self.authenticated(caller, stored).await?;
                return Err(refused.into());
            }
        };
        let known = state.map(|state| KnownWallet {
            stored: stored.clone(),
            key: key.clone(),
            state,
            read_at: now,
        });
        let signed = self.ports.custodian.sign(stored, key, &request).await;
        let (wallet, signed) = match signed {
            Ok(signed) => signed,
            Err(CustodyError::Refused(refused)) => return Err(refused.into()),
            Err(other) => return Err(self.noted(caller, wallet_id, other).await.into()),
        };
        // A signature that nobody could find in the log must not leave.
        let event = self.signature(caller, wallet_id, &request, &signed);
        self.record(event).await?;
        if let Some(known) = known {
            self.known_wallets.keep(known);
        }
        Ok(SignedByWallet { wallet, signed })
    }

    /// Has a wallet sign that signed a moment ago, as it was then, waiting for nothing but the log. `None` when it is not known,
    /// and when that leads nowhere: it has to be read then, and [`Service::sign`] tells what is the matter.
    ///
    /// On a web worker this may be called for what is short. When nobody waits for it any more, the entry in the log may be there
    /// and the signature is lost, as when an answer is.
    ///
    /// # Errors
    /// [`SignError::NotAllowed`], and [`SignError::Fault`] when the log could not be written.
    pub async fn sign_at_once(
        &self,
        caller: &Caller,
        command: &impl SigningCommand,
    ) -> Result<Option<SignedByWallet>, SignError> {
        caller.require(Scope::WalletsSign)?;
        let (world, wallet_id) = (&caller.world, command.wallet_id());
        let now = self.machine_time();
        let Some(known) = self.known_wallets.get(world, wallet_id, now) else {
            return Ok(None);
        };
        let signed = self.sign_as_known(caller, &known, command).await?;
        if signed.is_none() {
            // Whoever asks for it next shall not open its key in vain.
            self.known_wallets.forget(&known);
        }
        Ok(signed)
    }

    async fn sign_as_known(
        &self,
        caller: &Caller,
        known: &KnownWallet,
        command: &impl SigningCommand,
    ) -> Result<Option<SignedByWallet>, Fault> {
        let KnownWallet { stored, key, .. } = known;
        let wallet = &stored.wallet;
        let Ok(request) = command.request(wallet.wallet_type) else {
            return Ok(None);
        };
        let announced = self.announce_event();
        // Whatever else is ready on this worker is read first, so that all who are about to sign are announced.
        tokio::task::yield_now().await;
        give_way();
        let Some(signed) = self.ports.custodian.sign_at_once(stored, key, &request) else {
            return Ok(None);
        };
        let seen = SeenWallet {
            world: wallet.world,
            id: wallet.id,
            state: known.state.clone(),
        };
        let event = self.signature(caller, wallet.id, &request, &signed);
        let recorded = self.record_if_unchanged(event, seen, announced).await?;
        Ok(recorded.then(|| SignedByWallet {
            wallet: wallet.clone(),
            signed,
        }))
    }
}
