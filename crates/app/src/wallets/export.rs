//! `wallets/{wallet_id}/export`: a private key, sealed to its owner.

use vestry_domain::Invalid;
use vestry_domain::api_key::Scope;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::key_transfer::{EntropyType, ExportedKey};
use vestry_ports::custody::ExportError;

use super::UnusableWallet;
use super::usable::UsableWallet;
use crate::condition::Condition;
use crate::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service};

/// What the caller sent.
#[derive(Debug, Clone)]
pub struct ExportWallet {
    /// The wallet.
    pub wallet_id: WalletId,
    /// An X25519 public key, 32 bytes.
    pub recipient_public_key: Vec<u8>,
    /// What is wanted; phrases are not kept.
    pub entropy_type: EntropyType,
}

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportWalletError {
    /// The App does not let keys out.
    #[error("the App does not let private keys out")]
    Disabled,
    /// See [`UnusableWallet`].
    #[error(transparent)]
    Unusable(#[from] UnusableWallet),
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(ExportWalletError);

impl Service {
    /// Seals a wallet's private key to somebody's public key. The wallet stays as it is.
    ///
    /// # Errors
    /// [`ExportWalletError`]; no key was opened then, unless it is a [`Fault`].
    pub async fn export_wallet(
        &self,
        caller: &Caller,
        command: ExportWallet,
    ) -> Result<ExportedKey, ExportWalletError> {
        caller.require(Scope::WalletsExport)?;
        if !caller.settings().wallet_export {
            return Err(ExportWalletError::Disabled);
        }
        caller.rests_on(Condition::Export);
        if command.entropy_type == EntropyType::Hd {
            let message = "entropy_type is private_key: phrases are not kept";
            return Err(Invalid::value("entropy_type", message).into());
        }
        let found = self.usable_wallet(caller, command.wallet_id).await;
        let UsableWallet { stored, key, .. } = found??;
        let (id, recipient) = (command.wallet_id, &command.recipient_public_key);
        let owner = stored.wallet.user_id;
        let was_founded = self.is_founded(caller, owner).await?;
        let (wallet, exported) = match self.ports.custodian.export(stored, key, recipient).await {
            Ok(exported) => exported,
            Err(ExportError::Custody(error)) => {
                return Err(self.noted(caller, id, error).await.into());
            }
            Err(ExportError::Recipient) => return Err(no_recipient().into()),
        };
        // A key that left without a trace must not leave.
        self.note_export(caller, &wallet).await?;
        // Whoever founds the account from now on finds that note. Who founded it before has not: the key stays here, and
        // the next try meets the account as it is.
        if self.is_founded(caller, owner).await? != was_founded {
            return Err(Fault::LostRace.into());
        }
        Ok(exported)
    }

    async fn is_founded(&self, caller: &Caller, user: UserId) -> Result<bool, Fault> {
        let mut read = self.ports.store.read().await?;
        let profile = read.users().profile(&caller.world, user).await?;
        Ok(profile.is_some_and(|profile| profile.user.founded))
    }
}

fn no_recipient() -> Invalid {
    Invalid::value(
        "recipient_public_key",
        "recipient_public_key is not a usable X25519 public key; make a new key pair",
    )
}
