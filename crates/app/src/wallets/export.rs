//! `wallets/{wallet_id}/export`: exports a private key, encrypted to the recipient.

use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::key_transfer::{EntropyType, ExportedKey};
use vestry_ports::custody::ExportError;

use super::UnusableWallet;
use super::usable::UsableWallet;
use crate::kernel::refusal::has_common;
use crate::kernel::replay_guard::ReplayGuard;
use crate::{Caller, Fault, Refusal, Service};

/// Request parameters.
#[derive(Debug, Clone)]
pub struct ExportWallet {
    /// The wallet.
    pub wallet_id: WalletId,
    /// An X25519 public key, 32 bytes.
    pub recipient_public_key: Vec<u8>,
    /// The kind of secret to export; mnemonic phrases are not stored.
    pub entropy_type: EntropyType,
}

/// Reason why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportWalletError {
    /// Private key export is disabled for the App.
    #[error("private key export is disabled for this App")]
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
    /// Encrypts a wallet's private key to a public key. The wallet is unchanged.
    ///
    /// # Errors
    /// [`ExportWalletError`]; no key was decrypted then, unless it is a [`Fault`].
    pub async fn export_wallet(
        &self,
        caller: &Caller,
        command: ExportWallet,
    ) -> Result<ExportedKey, ExportWalletError> {
        caller.authorize(Action::ExportWallet)?;
        if !caller.settings().wallet_export {
            return Err(ExportWalletError::Disabled);
        }
        caller.record_guard(ReplayGuard::Export);
        if command.entropy_type == EntropyType::Hd {
            let message = "entropy_type must be private_key; mnemonic phrases are not stored";
            return Err(Invalid::value("entropy_type", message).into());
        }
        let found = self.usable_wallet(caller, command.wallet_id).await;
        let UsableWallet { stored, key, .. } = found??;
        let (id, recipient) = (command.wallet_id, &command.recipient_public_key);
        let owner = stored.wallet.user_id;
        let was_owned = self.is_owned(caller, owner).await?;
        let (wallet, exported) = match self.ports.custodian.export(stored, key, recipient).await {
            Ok(exported) => exported,
            Err(ExportError::Custody(error)) => {
                return Err(self.noted(caller, id, error).await.into());
            }
            Err(ExportError::Recipient) => return Err(no_recipient().into()),
        };
        // Record the export before the key is returned.
        self.note_export(caller, &wallet).await?;
        // If the account is claimed from now on, the claim sees this audit entry. If it was claimed before the entry, it did not: keep the
        // key, and let a retry see the current account.
        if self.is_owned(caller, owner).await? != was_owned {
            return Err(Fault::LostRace.into());
        }
        Ok(exported)
    }

    async fn is_owned(&self, caller: &Caller, user: UserId) -> Result<bool, Fault> {
        let mut read = self.ports.store.read().await?;
        let profile = read.users().profile(&caller.world, user).await?;
        Ok(profile.is_some_and(|profile| profile.user.is_owned))
    }
}

fn no_recipient() -> Invalid {
    Invalid::value(
        "recipient_public_key",
        "recipient_public_key is not a valid X25519 public key; generate a new key pair",
    )
}
