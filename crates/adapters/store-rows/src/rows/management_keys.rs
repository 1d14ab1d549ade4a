//! Rows of management keys.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::ids::AppId;
use vestry_domain::management_key::{ManagementKey, Rights};
use vestry_domain::token::TokenHash;
use vestry_ports::store::{StoreError, StoreResult};

use super::{Table, to_json};
use crate::schema::management_keys;

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = management_keys, treat_none_as_default_value = false)]
pub struct ManagementKeyRow {
    app_id: String,
    id: String,
    hash: Vec<u8>,
    last_four: String,
    name: String,
    rights: String,
    expires_at: i64,
    created_by: String,
    created_at: i64,
    revoked_at: Option<i64>,
}

impl TryFrom<&ManagementKey> for ManagementKeyRow {
    type Error = StoreError;

    fn try_from(key: &ManagementKey) -> StoreResult<Self> {
        Ok(Self {
            app_id: AppId::BUILT_IN.to_string(),
            id: key.id.to_string(),
            hash: key.hash.0.to_vec(),
            last_four: key.last_four.clone(),
            name: key.name.clone(),
            rights: to_json(&key.rights)?,
            expires_at: key.expires_at.unix(),
            created_by: key.created_by.to_string(),
            created_at: key.created_at.unix(),
            revoked_at: key.revoked_at.map(Timestamp::unix),
        })
    }
}

impl TryFrom<ManagementKeyRow> for ManagementKey {
    type Error = StoreError;

    fn try_from(row: ManagementKeyRow) -> StoreResult<Self> {
        let table = Table("management_keys");
        let hash = row.hash.try_into();
        let rights = Rights::from_stored(&row.rights);
        Ok(Self {
            id: table.parse("id", &row.id)?,
            hash: TokenHash(hash.map_err(|_other_length| table.corrupt("hash"))?),
            last_four: row.last_four,
            name: row.name,
            rights: rights.map_err(|_unknown| table.corrupt("rights"))?,
            expires_at: Timestamp::from_unix(row.expires_at),
            created_by: table.parse("created_by", &row.created_by)?,
            created_at: Timestamp::from_unix(row.created_at),
            revoked_at: row.revoked_at.map(Timestamp::from_unix),
        })
    }
}
