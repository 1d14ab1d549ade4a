//! Rows of authenticator apps and of their recovery codes.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::envelope::{Mac, Sealed};
use vestry_domain::ids::TotpId;
use vestry_domain::totp::{NO_STEP, StoredRecoveryCode, Totp};
use vestry_ports::store::{StoreError, StoreResult};

use super::Table;
use crate::schema::{totp_recovery_codes, totps};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = totps, treat_none_as_default_value = false)]
pub struct TotpRow {
    pub(super) app_id: String,
    pub(super) environment: String,
    id: String,
    user_id: String,
    verified: bool,
    last_step: i64,
    seed_key_version: i64,
    seed: Vec<u8>,
    expires_at: i64,
    created_at: i64,
    updated_at: i64,
}

impl From<&Totp> for TotpRow {
    /// Builds the row of an authenticator app with no accepted code yet.
    fn from(totp: &Totp) -> Self {
        Self {
            app_id: totp.world.app_id.to_string(),
            environment: totp.world.environment.to_string(),
            id: totp.id.to_string(),
            user_id: totp.user_id.to_string(),
            verified: false,
            last_step: NO_STEP,
            seed_key_version: totp.seed.key_version.into(),
            seed: totp.seed.bytes.clone(),
            expires_at: totp.expires_at.unix(),
            created_at: totp.created_at.unix(),
            updated_at: totp.updated_at.unix(),
        }
    }
}

impl TryFrom<TotpRow> for Totp {
    type Error = StoreError;

    fn try_from(row: TotpRow) -> StoreResult<Self> {
        let table = Table("totps");
        Ok(Self {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            user_id: table.parse("user_id", &row.user_id)?,
            verified: row.verified,
            seed: Sealed {
                key_version: table.small("seed_key_version", row.seed_key_version)?,
                bytes: row.seed,
            },
            expires_at: Timestamp::from_unix(row.expires_at),
            created_at: Timestamp::from_unix(row.created_at),
            updated_at: Timestamp::from_unix(row.updated_at),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = totp_recovery_codes, treat_none_as_default_value = false)]
pub struct RecoveryCodeRow {
    app_id: String,
    environment: String,
    totp_id: String,
    number: i64,
    mac_key_version: i64,
    mac: Vec<u8>,
    code_key_version: i64,
    code: Vec<u8>,
    used_at: Option<i64>,
}

impl RecoveryCodeRow {
    pub fn new(totp: &Totp, code: &StoredRecoveryCode) -> Self {
        Self {
            app_id: totp.world.app_id.to_string(),
            environment: totp.world.environment.to_string(),
            totp_id: totp.id.to_string(),
            number: code.number.into(),
            mac_key_version: code.mac.key_version.into(),
            mac: code.mac.tag.clone(),
            code_key_version: code.sealed.key_version.into(),
            code: code.sealed.bytes.clone(),
            used_at: None,
        }
    }
}

impl TryFrom<RecoveryCodeRow> for (TotpId, StoredRecoveryCode) {
    type Error = StoreError;

    fn try_from(row: RecoveryCodeRow) -> StoreResult<Self> {
        let table = Table("totp_recovery_codes");
        let code = StoredRecoveryCode {
            number: table.small("number", row.number)?,
            sealed: Sealed {
                key_version: table.small("code_key_version", row.code_key_version)?,
                bytes: row.code,
            },
            mac: Mac {
                key_version: table.small("mac_key_version", row.mac_key_version)?,
                tag: row.mac,
            },
            used: row.used_at.is_some(),
        };
        Ok((table.parse("totp_id", &row.totp_id)?, code))
    }
}
