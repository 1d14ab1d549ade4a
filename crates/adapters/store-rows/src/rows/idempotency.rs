//! Rows of idempotency keys.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::envelope::{Mac, Sealed};
use vestry_domain::idempotency::{Claim, KnownKey};
use vestry_ports::store::{StoreError, StoreResult};

use super::Table;
use crate::schema::idempotency_keys;

/// A claimed key. Its response is written later.
#[derive(Insertable)]
#[diesel(table_name = idempotency_keys, treat_none_as_default_value = false)]
pub struct ClaimRow {
    app_id: String,
    environment: String,
    digest: Vec<u8>,
    request_key_version: i64,
    request: Vec<u8>,
    holder: String,
    lease_until: i64,
    expires_at: i64,
}

impl From<&Claim> for ClaimRow {
    fn from(claim: &Claim) -> Self {
        Self {
            app_id: claim.world.app_id.to_string(),
            environment: claim.world.environment.to_string(),
            digest: claim.key.0.to_vec(),
            request_key_version: claim.request.key_version.into(),
            request: claim.request.tag.clone(),
            holder: claim.holder.clone(),
            lease_until: claim.lease_until.unix(),
            expires_at: claim.expires_at.unix(),
        }
    }
}

/// The stored state of a key.
#[derive(Queryable, Selectable)]
#[diesel(table_name = idempotency_keys)]
pub struct KnownRow {
    request_key_version: i64,
    request: Vec<u8>,
    holder: String,
    lease_until: i64,
    answer_key_version: Option<i64>,
    answer: Option<Vec<u8>>,
    erased: bool,
}

impl TryFrom<KnownRow> for KnownKey {
    type Error = StoreError;

    fn try_from(row: KnownRow) -> StoreResult<Self> {
        let table = Table("idempotency_keys");
        let answer = match (row.answer_key_version, row.answer) {
            (Some(version), Some(bytes)) => Some(Sealed {
                key_version: table.small("answer_key_version", version)?,
                bytes,
            }),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(table.corrupt("answer")),
        };
        Ok(Self {
            request: Mac {
                key_version: table.small("request_key_version", row.request_key_version)?,
                tag: row.request,
            },
            holder: row.holder,
            lease_until: Timestamp::from_unix(row.lease_until),
            answer,
            erased: row.erased,
        })
    }
}
