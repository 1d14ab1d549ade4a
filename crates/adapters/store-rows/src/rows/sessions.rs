//! Rows of sessions.

use diesel::prelude::{AsChangeset, Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::session::Session;
use vestry_domain::token::TokenHash;
use vestry_ports::store::{StoreError, StoreResult};

use super::{Table, to_json};
use crate::schema::sessions;

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = sessions, treat_none_as_default_value = false)]
pub struct SessionRow {
    app_id: String,
    environment: String,
    id: String,
    user_id: String,
    started_at: i64,
    expires_at: i64,
    last_active_at: i64,
    created_at: i64,
    updated_at: i64,
    factors: String,
    device_fingerprint: String,
    permissions: String,
    deleted_at: Option<i64>,
}

impl TryFrom<&Session> for SessionRow {
    type Error = StoreError;

    fn try_from(session: &Session) -> StoreResult<Self> {
        Ok(Self {
            app_id: session.world.app_id.to_string(),
            environment: session.world.environment.to_string(),
            id: session.id.to_string(),
            user_id: session.user_id.to_string(),
            started_at: session.started_at.unix(),
            expires_at: session.expires_at.unix(),
            last_active_at: session.last_active_at.unix(),
            created_at: session.created_at.unix(),
            updated_at: session.updated_at.unix(),
            factors: to_json(&session.factors)?,
            device_fingerprint: to_json(&session.device_fingerprint)?,
            permissions: to_json(&session.permissions)?,
            deleted_at: session.deleted_at.map(Timestamp::unix),
        })
    }
}

impl TryFrom<SessionRow> for Session {
    type Error = StoreError;

    fn try_from(row: SessionRow) -> StoreResult<Self> {
        let table = Table("sessions");
        Ok(Self {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            user_id: table.parse("user_id", &row.user_id)?,
            started_at: Timestamp::from_unix(row.started_at),
            expires_at: Timestamp::from_unix(row.expires_at),
            last_active_at: Timestamp::from_unix(row.last_active_at),
            created_at: Timestamp::from_unix(row.created_at),
            updated_at: Timestamp::from_unix(row.updated_at),
            factors: table.json("factors", &row.factors)?,
            device_fingerprint: table.json("device_fingerprint", &row.device_fingerprint)?,
            permissions: table.json("permissions", &row.permissions)?,
            deleted_at: row.deleted_at.map(Timestamp::from_unix),
        })
    }
}

/// The columns of a live session that can change.
#[derive(AsChangeset)]
#[diesel(table_name = sessions)]
pub struct SessionChange {
    expires_at: i64,
    last_active_at: i64,
    updated_at: i64,
    factors: String,
    device_fingerprint: String,
    permissions: String,
    /// Unchanged if `None`.
    token_hash: Option<Vec<u8>>,
}

impl SessionChange {
    pub fn new(session: &Session, token: Option<TokenHash>) -> StoreResult<Self> {
        Ok(Self {
            expires_at: session.expires_at.unix(),
            last_active_at: session.last_active_at.unix(),
            updated_at: session.updated_at.unix(),
            factors: to_json(&session.factors)?,
            device_fingerprint: to_json(&session.device_fingerprint)?,
            permissions: to_json(&session.permissions)?,
            token_hash: token.map(|hash| hash.0.to_vec()),
        })
    }
}
