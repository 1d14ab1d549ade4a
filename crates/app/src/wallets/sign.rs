//! Common part of `wallets/{wallet_id}/sign_message`, `sign_transaction` and `rpc`.

use std::time::Instant;

use vestry_domain::action::Action;
use vestry_domain::activity::Measure;
use vestry_domain::ids::WalletId;
use vestry_domain::metric::SignResult;
use vestry_domain::signing::{Signed, SigningRefused, SigningRequest};
use vestry_domain::wallet::{Wallet, WalletType};
use vestry_ports::custody::CustodyError;
use vestry_ports::meter::{Counted, Timed};

use super::UnusableWallet;
use super::usable::UsableWallet;
use crate::kernel::refusal::has_common;
use crate::{Caller, Refusal, Service};

/// Result of signing; every signature was verified against the wallet's public key.
#[derive(Debug, Clone)]
pub struct SignedByWallet {
    /// The wallet.
    pub wallet: Wallet,
    /// The signatures and related values.
    pub signed: Signed,
}

/// Reason why nothing was signed.
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

/// A command that signs with a wallet.
pub trait SigningCommand: Send + Sync {
    /// The wallet.
    fn wallet_id(&self) -> WalletId;

    /// Returns what to sign for a wallet of this type.
    ///
    /// # Errors
    /// [`SigningRefused`] if wallets of this type cannot sign it.
    fn request(&self, wallet_type: WalletType) -> Result<SigningRequest, SigningRefused>;
}

impl Service {
    /// Signs with a wallet.
    ///
    /// # Errors
    /// [`SignError`]; nothing is signed then.
    pub async fn sign(
        &self,
        caller: &Caller,
        command: impl SigningCommand,
    ) -> Result<SignedByWallet, SignError> {
        caller.authorize(Action::Sign)?;
        let wallet_id = command.wallet_id();
        let meter = &self.ports.meter;
        let usable = self.usable_wallet(caller, wallet_id).await;
        let usable = match usable.map_err(SignError::from) {
            Ok(Ok(usable)) => usable,
            Ok(Err(unusable)) => {
                meter.count(Counted::Signature(None, SignResult::Refused));
                return Err(unusable.into());
            }
            Err(error) => {
                meter.count(Counted::Signature(None, failure_of(&error)));
                return Err(error);
            }
        };
        let (wallet_type, begun) = (usable.stored.wallet.wallet_type, Instant::now());
        let outcome = self.sign_with(caller, wallet_id, usable, command).await;
        meter.time(Timed::Sign(wallet_type), begun.elapsed());
        let result = outcome.as_ref().err().map_or(SignResult::Ok, failure_of);
        meter.count(Counted::Signature(Some(wallet_type), result));
        outcome
    }

    async fn sign_with(
        &self,
        caller: &Caller,
        wallet_id: WalletId,
        usable: UsableWallet,
        command: impl SigningCommand,
    ) -> Result<SignedByWallet, SignError> {
        let UsableWallet { stored, key } = usable;
        let request = match command.request(stored.wallet.wallet_type) {
            Ok(request) => request,
            Err(refused) => {
                // The wallet type comes from the database too, so authenticate the row before returning the error.
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
        // Record the signature before it is returned.
        self.note_signature(caller, wallet_id, &request, &signed)
            .await?;
        let measure = Measure::Signature(wallet.wallet_type);
        self.tally.add(caller.world, measure, 1);
        Ok(SignedByWallet { wallet, signed })
    }
}

const fn failure_of(error: &SignError) -> SignResult {
    match error {
        SignError::Common(Refusal::Fault(_)) => SignResult::Failed,
        SignError::Refused(_) | SignError::Unusable(_) | SignError::Common(_) => {
            SignResult::Refused
        }
    }
}
