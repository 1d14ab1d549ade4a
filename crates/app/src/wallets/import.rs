//! `wallets/import`: a wallet of a private key that comes sealed.

use vestry_domain::api_key::Scope;
use vestry_domain::audit::AuditAction;
use vestry_domain::event::Fact;
use vestry_domain::ids::UserId;
use vestry_domain::key_transfer::{
    EntropyType, ImportKey, MOST_LIVING, SealedMessage, account_index,
};
use vestry_domain::wallet::{AddressForm, StoredWallet, Wallet, WalletType};
use vestry_domain::{Invalid, Timestamp};
use vestry_ports::custody::{ImportError, ImportOrder, ImportedWallet, WalletOrder};
use vestry_ports::store::Created;

use crate::fault::retried;
use crate::key_holds::hold_wallet_key;
use crate::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service};

/// What the caller sent.
#[derive(Debug, Clone)]
pub struct ImportWallet {
    /// Who gets the wallet.
    pub user_id: UserId,
    /// The chain.
    pub wallet_type: WalletType,
    /// The address of the key.
    pub public_address: String,
    /// What is sealed.
    pub entropy_type: EntropyType,
    /// Which key of a phrase, unless that was said at the beginning.
    pub account_index: Option<i64>,
    /// The key or the phrase.
    pub message: SealedMessage,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportWalletError {
    /// There is no key pair that opens the message: none was made for this, it was used or has expired, it was made for
    /// somebody else, or the message is not as it was sealed. Nobody learns which.
    #[error("the message does not open")]
    Undecipherable,
    /// What was sealed is not the key of this address.
    #[error("the key that was sent is not the key of this address")]
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

/// Names the fields of the wallet as they stand in the request.
fn of_wallet(invalid: Invalid) -> Invalid {
    invalid.within("wallet")
}

impl Service {
    /// Opens what was sealed, and keeps the key as a wallet of the user: the default one of its type if there is none. The
    /// key pair is used up in the transaction that stores the wallet, so that a message is good once.
    ///
    /// # Errors
    /// [`ImportWalletError`]; [`Refusal::Taken`] when the address is in the world already: imported, made here, or that of
    /// somebody who signs in with it. Nothing changes then, and what was begun can still be finished.
    pub async fn import_wallet(
        &self,
        caller: &Caller,
        command: ImportWallet,
    ) -> Result<Wallet, ImportWalletError> {
        caller.require(Scope::WalletsWrite)?;
        let account_index = account_index(command.entropy_type, command.account_index);
        let account_index = account_index.map_err(of_wallet)?;
        command.message.check().map_err(of_wallet)?;
        let address = self.importable(caller, command.wallet_type, &command.public_address);
        let public_address = address.map_err(of_wallet)?;
        let now = self.now(&caller.world);
        let keys = self
            .open_imports(caller, &command, &public_address, now)
            .await?;
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
        let stored = retried(|| self.keep_imported(caller, &imported)).await?;
        Ok(stored.wallet)
    }

    /// The key pairs that may have been meant, for a user that is there.
    async fn open_imports(
        &self,
        caller: &Caller,
        command: &ImportWallet,
        public_address: &str,
        now: Timestamp,
    ) -> Result<Vec<ImportKey>, ImportWalletError> {
        let (world, wallet_type) = (&caller.world, command.wallet_type);
        let mut read = self.ports.store.read().await?;
        let user = read.users().profile(world, command.user_id).await?;
        user.ok_or(Refusal::NotFound("user"))?;
        let keys = read
            .wallet_imports()
            .living(world, wallet_type, public_address, now, MOST_LIVING.into())
            .await?;
        Ok(keys)
    }

    /// Uses the key pair up and stores the wallet, as default or as a further one.
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
                let told = Fact::wallet_imported(wallet.user_id, wallet.id, wallet.wallet_type);
                self.tell(&mut *tx, caller, [told]).await?;
                caller.commit_last(tx).await?;
                return Ok(stored.clone());
            }
        }
        Err(Refusal::Taken("wallet.public_address".into()).into())
    }
}
