//! `wallets/{wallet_id}/sign_message`, `sign_transaction` and `rpc`: what the three have in common.

use vestry_domain::api_key::Scope;
use vestry_domain::ids::WalletId;
use vestry_domain::signing::{Signed, SigningRefused, SigningRequest};
use vestry_domain::wallet::{Wallet, WalletType};
use vestry_ports::custody::CustodyError;

use super::UnusableWallet;
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
        request: impl FnOnce(WalletType) -> Result<SigningRequest, SigningRefused>,
    ) -> Result<SignedByWallet, SignError> {
        caller.require(Scope::WalletsSign)?;
        let (stored, key) = self.usable_wallet(&caller.world, wallet_id).await??;
        let request = request(stored.wallet.wallet_type)?;
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
