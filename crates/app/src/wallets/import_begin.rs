//! `wallets/import/begin`: creates a key pair for the encryption of one private key.

use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::ids::UserId;
use vestry_domain::key_transfer::{
    EntropyType, ImportKey, Kem, NEW_PER_ADDRESS, Origin, account_index,
};
use vestry_domain::wallet::WalletType;
use vestry_ports::custody::ImportKeyOrder;

use crate::kernel::fault::retried;
use crate::kernel::key_pins::hold_wallet_key;
use crate::{Caller, Refusal, Service};

/// Counter name for new key pairs of one address.
const QUOTA: &str = "wallet_import";

/// Request parameters.
#[derive(Debug, Clone)]
pub struct BeginImport {
    /// The chain.
    pub wallet_type: WalletType,
    /// The address of the key to be imported.
    pub public_address: String,
    /// The kind of secret to be imported.
    pub entropy_type: EntropyType,
    /// Index of the key of a mnemonic phrase; it can also be given later.
    pub account_index: Option<i64>,
    /// The kind of key pair.
    pub kem: Kem,
    /// The owner of the new wallet; if absent, the user that the import names.
    pub user_id: Option<UserId>,
}

impl Service {
    /// Creates a key pair for one import within 15 minutes. Other key pairs of the same address remain valid.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::TooMany`] if too many key pairs of this address are open. Nothing is stored then.
    pub async fn begin_import(
        &self,
        caller: &Caller,
        command: BeginImport,
    ) -> Result<ImportKey, Refusal> {
        caller.authorize(Action::ImportWallet)?;
        let user_id = caller.visible_user_if_named(command.user_id)?;
        caller.uses_wallet_type(command.wallet_type)?;
        let account_index = account_index(command.entropy_type, command.account_index)?;
        let (world, wallet_type) = (&caller.world, command.wallet_type);
        let public_address = self.importable(caller, wallet_type, &command.public_address)?;
        let now = self.now(world);
        let order = ImportKeyOrder {
            id: self.new_id(now),
            world: *world,
            origin: Origin {
                wallet_type,
                public_address,
                entropy_type: command.entropy_type,
            },
            account_index,
            user_id,
            kem: command.kem,
            created_at: now,
        };
        let key = self.ports.custodian.begin_import(order).await?;
        retried(|| self.store_import_key(&key)).await?;
        Ok(key)
    }

    /// Returns the canonical form of an address whose key can be imported here.
    pub(super) fn importable(
        &self,
        caller: &Caller,
        wallet_type: WalletType,
        text: &str,
    ) -> Result<String, Invalid> {
        let custodian = &self.ports.custodian;
        let canonical = custodian.wallet_address(&caller.world, wallet_type, text);
        canonical.ok_or_else(|| {
            let environment = caller.world.environment;
            Invalid::value(
                "public_address",
                format!(
                    "public_address is not an address of a {environment} wallet of {wallet_type}"
                ),
            )
        })
    }

    async fn store_import_key(&self, key: &ImportKey) -> Result<(), Refusal> {
        let (world, now) = (&key.world, key.created_at);
        let subject = format!("{}:{}", key.origin.wallet_type, key.origin.public_address);
        let mut tx = self.ports.store.begin().await?;
        if let Some(user) = key.user_id
            && !tx.users().lock(world, user).await?
        {
            return Err(Refusal::NotFound("user"));
        }
        let verdict = tx
            .quotas()
            .consume(world, QUOTA, &subject, NEW_PER_ADDRESS, now)
            .await?;
        if !verdict.admitted {
            return Err(Refusal::TooMany {
                retry_after: verdict.reset - now,
            });
        }
        hold_wallet_key(&mut *tx, world, key.private_key.key_version).await?;
        tx.wallet_imports().insert(key).await?;
        tx.commit().await?;
        Ok(())
    }
}
