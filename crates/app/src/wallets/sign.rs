//! `wallets/{wallet_id}/sign_message`, `sign_transaction` and `rpc`: what the three have in common.

use vestry_domain::api_key::Scope;
use vestry_domain::ids::WalletId;
use vestry_domain::signing::{Signed, SigningRefused, SigningRequest};
use vestry_domain::wallet::{Wallet, WalletType};
use vestry_ports::custody::CustodyError;

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
    /// No such wallet in this world.
    #[error("the wallet does not exist")]
    NotFound,
    /// The wallet has no key here.
    #[error("the wallet is read-only")]
    ReadOnly,
    /// The wallet was told to sign nothing.
    #[error("the wallet is disabled")]
    Disabled,
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
        let mut read = self.ports.store.read().await.map_err(Fault::from)?;
        let found = read
            .wallets()
            .find_with_key(&caller.world, wallet_id)
            .await
            .map_err(Fault::from)?;
        drop(read);
        let (stored, key) = found.ok_or(SignError::NotFound)?;
        let Some(key) = key.filter(|_| !stored.wallet.is_read_only) else {
            self.keyless(stored).await?;
            return Err(SignError::ReadOnly);
        };
        if stored.wallet.disabled_at.is_some() {
            let authentic = self.ports.custodian.authenticate(stored).await;
            authentic.map_err(Fault::from)?;
            return Err(SignError::Disabled);
        }
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
