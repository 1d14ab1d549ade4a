//! Rows of wallets and of their keys.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::envelope::{Mac, WalletKey};
use vestry_domain::wallet::{Disabled, DisabledReason, StoredWallet, Wallet};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{StoreError, StoreResult};

use super::Table;
use crate::schema::{wallet_keys, wallets};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = wallets, treat_none_as_default_value = false)]
pub struct WalletRow {
    pub(super) app_id: String,
    pub(super) environment: String,
    id: String,
    user_id: String,
    key_id: Option<String>,
    wallet_type: String,
    public_address: String,
    verified: bool,
    is_default: bool,
    is_read_only: bool,
    is_imported: bool,
    account_index: Option<i64>,
    disabled_at: Option<i64>,
    disabled_reason: Option<String>,
    created_at: i64,
    updated_at: i64,
    mac_key_version: i64,
    mac: Vec<u8>,
}

impl From<&StoredWallet> for WalletRow {
    fn from(stored: &StoredWallet) -> Self {
        let wallet = &stored.wallet;
        Self {
            app_id: wallet.world.app_id.to_string(),
            environment: wallet.world.environment.to_string(),
            id: wallet.id.to_string(),
            user_id: wallet.user_id.to_string(),
            key_id: wallet.key_id.map(|id| id.to_string()),
            wallet_type: wallet.wallet_type.to_string(),
            public_address: wallet.public_address.clone(),
            verified: wallet.verified,
            is_default: wallet.is_default,
            is_read_only: wallet.is_read_only,
            is_imported: wallet.is_imported,
            account_index: wallet.account_index.map(i64::from),
            disabled_at: wallet.disabled.map(|disabled| disabled.at.unix()),
            disabled_reason: wallet
                .disabled
                .map(|disabled| disabled.reason.as_str().to_owned()),
            created_at: wallet.created_at.unix(),
            updated_at: wallet.updated_at.unix(),
            mac_key_version: stored.mac.key_version.into(),
            mac: stored.mac.tag.clone(),
        }
    }
}

impl TryFrom<WalletRow> for StoredWallet {
    type Error = StoreError;

    fn try_from(row: WalletRow) -> StoreResult<Self> {
        let table = Table("wallets");
        let key_id = row.key_id.map(|id| table.parse("key_id", &id));
        let account_index = row
            .account_index
            .map(|index| table.small("account_index", index));
        let disabled = row.disabled_at.map(|at| {
            // Rows written before reasons existed have none.
            let reason = row
                .disabled_reason
                .as_deref()
                .map_or(Ok(DisabledReason::Requested), |reason| {
                    table.parse("disabled_reason", reason)
                });
            let at = Timestamp::from_unix(at);
            reason.map(|reason| Disabled { at, reason })
        });
        let wallet = Wallet {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            user_id: table.parse("user_id", &row.user_id)?,
            key_id: key_id.transpose()?,
            wallet_type: table.parse("wallet_type", &row.wallet_type)?,
            public_address: row.public_address,
            verified: row.verified,
            is_default: row.is_default,
            is_read_only: row.is_read_only,
            is_imported: row.is_imported,
            account_index: account_index.transpose()?,
            disabled: disabled.transpose()?,
            created_at: Timestamp::from_unix(row.created_at),
            updated_at: Timestamp::from_unix(row.updated_at),
        };
        let mac = Mac {
            key_version: table.small("mac_key_version", row.mac_key_version)?,
            tag: row.mac,
        };
        Ok(Self { wallet, mac })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = wallet_keys, treat_none_as_default_value = false)]
pub struct WalletKeyRow {
    app_id: String,
    environment: String,
    id: String,
    wallet_id: String,
    public_key: Vec<u8>,
    format: i64,
    key_version: i64,
    wrapped_data_key: Vec<u8>,
    ciphertext: Vec<u8>,
}

impl WalletRow {
    /// Returns the id of the wallet.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl WalletKeyRow {
    /// Returns the id of the wallet that the key belongs to.
    pub fn wallet_id(&self) -> &str {
        &self.wallet_id
    }

    pub fn new(world: &World, key: &WalletKey) -> Self {
        Self {
            app_id: world.app_id.to_string(),
            environment: world.environment.to_string(),
            id: key.id.to_string(),
            wallet_id: key.wallet_id.to_string(),
            public_key: key.public_key.clone(),
            format: key.format.into(),
            key_version: key.key_version.into(),
            wrapped_data_key: key.wrapped_data_key.clone(),
            ciphertext: key.ciphertext.clone(),
        }
    }
}

impl TryFrom<WalletKeyRow> for WalletKey {
    type Error = StoreError;

    fn try_from(row: WalletKeyRow) -> StoreResult<Self> {
        let table = Table("wallet_keys");
        Ok(Self {
            id: table.parse("id", &row.id)?,
            wallet_id: table.parse("wallet_id", &row.wallet_id)?,
            public_key: row.public_key,
            format: table.small("format", row.format)?,
            key_version: table.small("key_version", row.key_version)?,
            wrapped_data_key: row.wrapped_data_key,
            ciphertext: row.ciphertext,
        })
    }
}
