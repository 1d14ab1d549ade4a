//! `wallets/{wallet_id}/sign_message`, `sign_transaction` and `rpc`: what the three have in common.

use vestry_domain::api_key::Scope;
use vestry_domain::ids::WalletId;
use vestry_domain::signing::{Signed, SigningRefused, SigningRequest};
use vestry_domain::wallet::{Wallet, WalletType};
use vestry_ports::custody::CustodyError;

use super::UnusableWallet;
use super::usable::UsableWallet;
use crate::refusal::has_common;
use crate::{Caller, Refusal, Service};

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
    /// The request was refused.
    #[error(transparent)]
    Refused(#[from] SigningRefused),
    /// See [`UnusableWallet`].
    #[error(transparent)]
    Unusable(#[from] UnusableWallet),
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(SignError);

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
        caller.require(Scope::WalletsSign)?;
        let wallet_id = command.wallet_id();
        let usable = self.usable_wallet(caller, wallet_id).await??;
        let UsableWallet { stored, key } = usable;
        let request = match command.request(stored.wallet.wallet_type) {
            Ok(request) => request,
            Err(refused) => {
                // The type is what the database says, too.
                self.authenticated(caller, stored).await?;
                return Err(refused.into());
            }
        };
        let signed = self.ports.custodian.sign(stored, key, &request).await;
        let (wallet, signed) = match signed {
            Ok(signed) => signed,
            Err(CustodyError::Refused(refused)) => return Err(refused.into()),
            Err(other) => return Err(self.noted(caller, wallet_id, other).await.into()),
        };
        // A signature that nobody could find in the log must not leave.
        self.note_signature(caller, wallet_id, &request, &signed)
            .await?;
        Ok(SignedByWallet { wallet, signed })
    }
}
