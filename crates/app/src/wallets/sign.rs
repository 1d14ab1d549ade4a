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

impl Service {
    /// Has a wallet sign what `request` makes of its type.
    pub(super) async fn sign(
        &self,
        caller: &Caller,
        wallet_id: WalletId,
        request: impl Fn(WalletType) -> Result<SigningRequest, SigningRefused>,
    ) -> Result<SignedByWallet, SignError> {
        caller.require(Scope::WalletsSign)?;
        // Before the wallet is read: what is read is then as old as it is said to be, or younger.
        let now = self.machine_time();
        if let Some(known) = self.known_wallets.get(&caller.world, wallet_id, now) {
            if let Some(signed) = self.sign_as_known(caller, &known, &request).await? {
                return Ok(signed);
            }
            // Whoever asks for it next shall not open its key in vain.
            self.known_wallets.forget(&known);
        }
        let usable = self.usable_wallet(&caller.world, wallet_id).await??;
        let request = request(usable.stored.wallet.wallet_type)?;
        let UsableWallet { stored, key, state } = usable;
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

    /// Signs with a wallet as it was. `None` when that leads nowhere: it has to be read then, and what is read tells what is the
    /// matter.
    async fn sign_as_known(
        &self,
        caller: &Caller,
        known: &KnownWallet,
        request: impl Fn(WalletType) -> Result<SigningRequest, SigningRefused>,
    ) -> Result<Option<SignedByWallet>, Fault> {
        let (stored, key) = (known.stored.clone(), known.key.clone());
        let Ok(request) = request(stored.wallet.wallet_type) else {
            return Ok(None);
        };
        let signed = self.ports.custodian.sign(stored, key, &request).await;
        let Ok((wallet, signed)) = signed else {
            return Ok(None);
        };
        let seen = SeenWallet {
            world: wallet.world,
            id: wallet.id,
            state: known.state.clone(),
        };
        let event = self.signature(caller, wallet.id, &request, &signed);
        let recorded = self.record_if_unchanged(event, seen).await?;
        Ok(recorded.then_some(SignedByWallet { wallet, signed }))
    }
}
