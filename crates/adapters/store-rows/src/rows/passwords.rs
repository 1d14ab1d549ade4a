//! Rows of passwords.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::envelope::Sealed;
use vestry_domain::password::StoredPassword;
use vestry_domain::user::{ShownStatus, UserStatus};
use vestry_ports::store::{PasswordHolder, StoreError};

use super::Table;
use crate::schema::{passwords, users};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = passwords, treat_none_as_default_value = false)]
pub struct PasswordRow {
    app_id: String,
    environment: String,
    user_id: String,
    key_version: i64,
    sealed: Vec<u8>,
    created_at: i64,
    updated_at: i64,
}

impl From<&StoredPassword> for PasswordRow {
    fn from(password: &StoredPassword) -> Self {
        Self {
            app_id: password.world.app_id.to_string(),
            environment: password.world.environment.to_string(),
            user_id: password.user_id.to_string(),
            key_version: password.sealed.key_version.into(),
            sealed: password.sealed.bytes.clone(),
            created_at: password.created_at.unix(),
            updated_at: password.updated_at.unix(),
        }
    }
}

impl TryFrom<PasswordRow> for StoredPassword {
    type Error = StoreError;

    fn try_from(row: PasswordRow) -> Result<Self, StoreError> {
        let table = Table("passwords");
        Ok(Self {
            world: table.world(&row.app_id, &row.environment)?,
            user_id: table.parse("user_id", &row.user_id)?,
            sealed: Sealed {
                key_version: table.small("key_version", row.key_version)?,
                bytes: row.sealed,
            },
            created_at: Timestamp::from_unix(row.created_at),
            updated_at: Timestamp::from_unix(row.updated_at),
        })
    }
}

/// Only the user columns that decide whether the user can sign in.
#[derive(Queryable, Selectable)]
#[diesel(table_name = users)]
pub struct PasswordHolderRow {
    status: String,
    disabled_at: Option<i64>,
    #[diesel(embed)]
    password: Option<PasswordRow>,
}

impl TryFrom<PasswordHolderRow> for PasswordHolder {
    type Error = StoreError;

    fn try_from(row: PasswordHolderRow) -> Result<Self, StoreError> {
        let status: UserStatus = Table("users").parse("status", &row.status)?;
        Ok(Self {
            status: match row.disabled_at {
                Some(_) => ShownStatus::Disabled,
                None => status.into(),
            },
            password: row.password.map(StoredPassword::try_from).transpose()?,
        })
    }
}
