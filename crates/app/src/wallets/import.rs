//! `wallets/import`: creates a wallet from an encrypted private key.

use vestry_domain::action::Action;
use vestry_domain::audit::AuditAction;
use vestry_domain::event::Fact;
use vestry_domain::ids::UserId;
use vestry_domain::key_transfer::{EntropyType, ImportKey, MAX_LIVE, SealedMessage, account_index};
use vestry_domain::wallet::{AddressForm, StoredWallet, Wallet, WalletType};
use vestry_domain::{Invalid, Timestamp};
use vestry_ports::custody::{ImportError, ImportOrder, ImportedWallet, WalletOrder};
use vestry_ports::store::Created;

use crate::kernel::fault::retried;
use crate::kernel::key_pins::hold_wallet_key;
use crate::kernel::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service};

/// Request parameters.
#[derive(Debug, Clone)]
pub struct ImportWallet {
    /// The owner of the new wallet.
    pub user_id: UserId,
    /// The chain.
    pub wallet_type: WalletType,
    /// The address that belongs to the key.
    pub public_address: String,
    /// The kind of secret that is encrypted.
    pub entropy_type: EntropyType,
    /// Index of the key of a mnemonic phrase, unless given when the import was started.
    pub account_index: Option<i64>,
    /// The encrypted key or phrase.
    pub message: SealedMessage,
}

/// Reason why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportWalletError {
    /// No key pair decrypts the message. It was never created, was used, has expired or belongs to another user, or the message was
    /// altered. The caller does not learn which.
    #[error("the message cannot be decrypted")]
    Undecipherable,
    /// The decrypted key does not belong to this address.
    #[error("the private key does not belong to this address")]
    AddressMismatch,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(ImportWalletError);

impl From<ImportError> for ImportWalletError {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Undecipherable => Self::Undecipherable,
            ImportError::AddressMismatch => Self::AddressMismatch,
            ImportError::Custody(custody) => Fault::from(custody).into(),
        }
    }
}

/// Maps field names to those of the request.
fn of_wallet(invalid: Invalid) -> Invalid {
    invalid.within("wallet")
}

impl Service {
    /// Decrypts the key and stores it as a wallet of the user, as the default of its type if there is none.
    ///
    /// The key pair is consumed in the transaction that stores the wallet, so a message can be used only once.
    ///
    /// # Errors
    /// [`ImportWalletError`]; [`Refusal::Taken`] if the environment already has the address: imported, created here, or used for signing
    /// in. Nothing changes then, and the import can still be completed.
    pub async fn import_wallet(
        &self,
        caller: &Caller,
        command: ImportWallet,
    ) -> Result<Wallet, ImportWalletError> {
        caller.authorize(Action::ImportWallet)?;
        let account_index = account_index(command.entropy_type, command.account_index);
        let account_index = account_index.map_err(of_wallet)?;
        command.message.check().map_err(of_wallet)?;
        let address = self.importable(caller, command.wallet_type, &command.public_address);
        let public_address = address.map_err(of_wallet)?;
        let now = self.now(&caller.world);
        let keys = self
            .open_imports(caller, &command, &public_address, now)
            .await?;
        caller.uses_wallet_type(command.wallet_type)?;
        let order = ImportOrder {
            wallet: WalletOrder {
                wallet_id: self.new_id(now),
                key_id: self.new_id(now),
                world: caller.world,
                user_id: command.user_id,
                wallet_type: command.wallet_type,
                address_form: AddressForm::Usual,
                created_at: now,
            },
            public_address,
            entropy_type: command.entropy_type,
            account_index,
            message: command.message,
        };
        let imported = self.ports.custodian.import(order, keys).await?;
        let id = imported.as_default.wallet.id;
        self.note_use(caller, id, AuditAction::Import).await?;
        for row in [&imported.as_default, &imported.as_further] {
            self.journal_wallet(row, &imported.key).await?;
        }
        let stored = retried(|| self.keep_imported(caller, &imported)).await?;
        Ok(stored.wallet)
    }

    /// Returns the key pairs that can match, after checking that the user exists.
    async fn open_imports(
        &self,
        caller: &Caller,
        command: &ImportWallet,
        public_address: &str,
        now: Timestamp,
    ) -> Result<Vec<ImportKey>, ImportWalletError> {
        let (world, wallet_type) = (&caller.world, command.wallet_type);
        let mut read = self.ports.store.read().await?;
        let user_id = caller.visible_user(command.user_id);
        let user = read.users().profile(world, user_id).await?;
        user.ok_or(Refusal::NotFound("user"))?;
        let keys = read
            .wallet_imports()
            .living(world, wallet_type, public_address, now, MAX_LIVE.into())
            .await?;
        Ok(keys)
    }

    /// Consumes the key pair and stores the wallet, as default or as an additional one.
    async fn keep_imported(
        &self,
        caller: &Caller,
        imported: &ImportedWallet,
    ) -> Result<StoredWallet, ImportWalletError> {
        let wallet = &imported.as_default.wallet;
        let (world, now) = (&wallet.world, wallet.created_at);
        let mut tx = self.ports.store.begin().await?;
        if !tx.users().lock(world, wallet.user_id).await? {
            return Err(Refusal::NotFound("user").into());
        }
        let import_key = imported.import_key;
        if !tx.wallet_imports().consume(world, import_key, now).await? {
            return Err(ImportWalletError::Undecipherable);
        }
        hold_wallet_key(&mut *tx, world, imported.key.key_version).await?;
        for stored in [&imported.as_default, &imported.as_further] {
            if tx.wallets().insert(stored, &imported.key).await? == Created::Yes {
                let fact = Fact::wallet_imported(wallet.user_id, wallet.id, wallet.wallet_type);
                self.emit(&mut *tx, caller, [fact]).await?;
                caller.commit_last(tx).await?;
                return Ok(stored.clone());
            }
        }
        Err(Refusal::Taken("wallet.public_address".into()).into())
    }
}
