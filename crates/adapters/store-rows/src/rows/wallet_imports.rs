//! Rows of the key pairs that encrypt private keys for import.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::envelope::Sealed;
use vestry_domain::key_transfer::{ImportKey, Origin};
use vestry_ports::store::{StoreError, StoreResult};

use super::Table;
use crate::schema::wallet_imports;

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = wallet_imports, treat_none_as_default_value = false)]
pub struct WalletImportRow {
    app_id: String,
    environment: String,
    id: String,
    wallet_type: String,
    public_address: String,
    entropy_type: String,
    account_index: Option<i64>,
    user_id: Option<String>,
    kem: String,
    public_key: Vec<u8>,
    private_key_version: i64,
    private: Vec<u8>,
    created_at: i64,
    expires_at: i64,
}

impl From<&ImportKey> for WalletImportRow {
    fn from(key: &ImportKey) -> Self {
        Self {
            app_id: key.world.app_id.to_string(),
            environment: key.world.environment.to_string(),
            id: key.id.to_string(),
            wallet_type: key.origin.wallet_type.to_string(),
            public_address: key.origin.public_address.clone(),
            entropy_type: key.origin.entropy_type.to_string(),
            account_index: key.account_index.map(i64::from),
            user_id: key.user_id.map(|id| id.to_string()),
            kem: key.kem.to_string(),
            public_key: key.public_key.clone(),
            private_key_version: key.private_key.key_version.into(),
            private: key.private_key.bytes.clone(),
            created_at: key.created_at.unix(),
            expires_at: key.expires_at.unix(),
        }
    }
}

impl TryFrom<WalletImportRow> for ImportKey {
    type Error = StoreError;

    fn try_from(row: WalletImportRow) -> StoreResult<Self> {
        let table = Table("wallet_imports");
        let account_index = row
            .account_index
            .map(|index| table.small("account_index", index));
        let user_id = row.user_id.map(|id| table.parse("user_id", &id));
        Ok(Self {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            origin: Origin {
                wallet_type: table.parse("wallet_type", &row.wallet_type)?,
                public_address: row.public_address,
                entropy_type: table.parse("entropy_type", &row.entropy_type)?,
            },
            account_index: account_index.transpose()?,
            user_id: user_id.transpose()?,
            kem: table.parse("kem", &row.kem)?,
            public_key: row.public_key,
            private_key: Sealed {
                key_version: table.small("private_key_version", row.private_key_version)?,
                bytes: row.private,
            },
            created_at: Timestamp::from_unix(row.created_at),
            expires_at: Timestamp::from_unix(row.expires_at),
        })
    }
}
