//! Rows of passkeys and of ceremony challenges.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::passkey::{Passkey, PasskeyChallenge, UserHandle};
use vestry_domain::token::TokenHash;
use vestry_ports::store::{StoreError, StoreResult};

use super::{Table, to_json};
use crate::schema::{passkey_challenges, passkeys};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = passkeys, treat_none_as_default_value = false)]
pub struct PasskeyRow {
    pub(super) app_id: String,
    pub(super) environment: String,
    id: String,
    user_id: String,
    credential_id: Vec<u8>,
    public_key: Vec<u8>,
    sign_count: i64,
    backup_eligible: bool,
    backed_up: bool,
    domain: String,
    authenticator_type: String,
    transports: String,
    user_agent: String,
    created_at: i64,
    updated_at: i64,
    last_used_at: Option<i64>,
}

impl TryFrom<&Passkey> for PasskeyRow {
    type Error = StoreError;

    fn try_from(passkey: &Passkey) -> StoreResult<Self> {
        Ok(Self {
            app_id: passkey.world.app_id.to_string(),
            environment: passkey.world.environment.to_string(),
            id: passkey.id.to_string(),
            user_id: passkey.user_id.to_string(),
            credential_id: passkey.credential_id.clone(),
            public_key: passkey.public_key.clone(),
            sign_count: passkey.sign_count.into(),
            backup_eligible: passkey.backup_eligible,
            backed_up: passkey.backed_up,
            domain: passkey.domain.to_string(),
            authenticator_type: passkey.authenticator_type.as_str().to_owned(),
            transports: to_json(&passkey.transports)?,
            user_agent: passkey.user_agent.clone(),
            created_at: passkey.created_at.unix(),
            updated_at: passkey.updated_at.unix(),
            last_used_at: passkey.last_used_at.map(Timestamp::unix),
        })
    }
}

impl TryFrom<PasskeyRow> for Passkey {
    type Error = StoreError;

    fn try_from(row: PasskeyRow) -> StoreResult<Self> {
        let table = Table("passkeys");
        Ok(Self {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            user_id: table.parse("user_id", &row.user_id)?,
            credential_id: row.credential_id,
            public_key: row.public_key,
            sign_count: table.small("sign_count", row.sign_count)?,
            backup_eligible: row.backup_eligible,
            backed_up: row.backed_up,
            domain: table.parse("domain", &row.domain)?,
            authenticator_type: table.parse("authenticator_type", &row.authenticator_type)?,
            transports: table.json("transports", &row.transports)?,
            user_agent: row.user_agent,
            created_at: Timestamp::from_unix(row.created_at),
            updated_at: Timestamp::from_unix(row.updated_at),
            last_used_at: row.last_used_at.map(Timestamp::from_unix),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = passkey_challenges, treat_none_as_default_value = false)]
pub struct PasskeyChallengeRow {
    app_id: String,
    environment: String,
    hash: Vec<u8>,
    ceremony: String,
    user_id: Option<String>,
    domain: String,
    authenticator_type: String,
    created_at: i64,
    expires_at: i64,
}

impl From<&PasskeyChallenge> for PasskeyChallengeRow {
    fn from(challenge: &PasskeyChallenge) -> Self {
        Self {
            app_id: challenge.world.app_id.to_string(),
            environment: challenge.world.environment.to_string(),
            hash: challenge.hash.0.to_vec(),
            ceremony: challenge.ceremony.as_str().to_owned(),
            user_id: challenge.user_id.map(|user| user.to_string()),
            domain: challenge.domain.to_string(),
            authenticator_type: challenge.authenticator_type.as_str().to_owned(),
            created_at: challenge.created_at.unix(),
            expires_at: challenge.expires_at.unix(),
        }
    }
}

impl TryFrom<PasskeyChallengeRow> for PasskeyChallenge {
    type Error = StoreError;

    fn try_from(row: PasskeyChallengeRow) -> StoreResult<Self> {
        let table = Table("passkey_challenges");
        let user_id = row.user_id.map(|user| table.parse("user_id", &user));
        Ok(Self {
            world: table.world(&row.app_id, &row.environment)?,
            hash: TokenHash(fixed(&table, "hash", &row.hash)?),
            ceremony: table.parse("ceremony", &row.ceremony)?,
            user_id: user_id.transpose()?,
            domain: table.parse("domain", &row.domain)?,
            authenticator_type: table.parse("authenticator_type", &row.authenticator_type)?,
            created_at: Timestamp::from_unix(row.created_at),
            expires_at: Timestamp::from_unix(row.expires_at),
        })
    }
}

/// Parses the user handle in a column.
pub fn handle(bytes: &[u8]) -> StoreResult<UserHandle> {
    fixed(&Table("passkey_handles"), "handle", bytes).map(UserHandle)
}

fn fixed(table: &Table, column: &'static str, bytes: &[u8]) -> StoreResult<[u8; 32]> {
    bytes.try_into().map_err(|_other| table.corrupt(column))
}
