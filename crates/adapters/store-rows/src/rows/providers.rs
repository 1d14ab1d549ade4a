//! Rows of identity providers: connections, pending sign-ins, links.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::envelope::Sealed;
use vestry_domain::pkce::CodeChallenge;
use vestry_domain::provider::{
    ClientSecretHint, Connection, Flow, Pending, ProviderLink, TestGrant,
};
use vestry_domain::token::TokenHash;
use vestry_ports::store::{StoreError, StoreResult, StoredConnection};

use super::{Table, to_json};
use crate::schema::{oauth_flows, oauth_tokens, provider_connections, provider_links};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = provider_connections, treat_none_as_default_value = false)]
pub struct ConnectionRow {
    app_id: String,
    environment: String,
    name: String,
    callback_id: String,
    pub client_id: String,
    pub settings: String,
    pub secret_key_version: i64,
    pub secret: Vec<u8>,
    pub secret_last_four: Option<String>,
    pub secret_updated_at: Option<i64>,
    created_at: i64,
    pub updated_at: i64,
}

impl TryFrom<&StoredConnection> for ConnectionRow {
    type Error = StoreError;

    fn try_from(stored: &StoredConnection) -> StoreResult<Self> {
        let connection = &stored.connection;
        Ok(Self {
            app_id: connection.world.app_id.to_string(),
            environment: connection.world.environment.to_string(),
            name: connection.name.to_string(),
            callback_id: connection.callback_id.to_string(),
            client_id: connection.client_id.clone(),
            settings: to_json(&connection.settings)?,
            secret_key_version: stored.secret.key_version.into(),
            secret: stored.secret.bytes.clone(),
            secret_last_four: stored.hint.as_ref().and_then(|hint| hint.last_four.clone()),
            secret_updated_at: stored.hint.as_ref().map(|hint| hint.updated_at.unix()),
            created_at: connection.created_at.unix(),
            updated_at: connection.updated_at.unix(),
        })
    }
}

impl TryFrom<ConnectionRow> for StoredConnection {
    type Error = StoreError;

    fn try_from(row: ConnectionRow) -> StoreResult<Self> {
        let table = Table("provider_connections");
        Ok(Self {
            connection: Connection {
                callback_id: table.parse("callback_id", &row.callback_id)?,
                world: table.world(&row.app_id, &row.environment)?,
                name: table.parse("name", &row.name)?,
                client_id: row.client_id,
                settings: table.json("settings", &row.settings)?,
                created_at: Timestamp::from_unix(row.created_at),
                updated_at: Timestamp::from_unix(row.updated_at),
            },
            secret: Sealed {
                key_version: table.small("secret_key_version", row.secret_key_version)?,
                bytes: row.secret,
            },
            hint: row.secret_updated_at.map(|updated_at| ClientSecretHint {
                last_four: row.secret_last_four,
                updated_at: Timestamp::from_unix(updated_at),
            }),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = oauth_flows, treat_none_as_default_value = false)]
pub struct FlowRow {
    app_id: String,
    environment: String,
    state_hash: Vec<u8>,
    provider: String,
    secrets_key_version: i64,
    secrets: Vec<u8>,
    redirect_uri: Option<String>,
    browser_hash: Option<Vec<u8>>,
    login_url: Option<String>,
    registration_url: Option<String>,
    test_code_hash: Option<Vec<u8>>,
    test_identity: Option<String>,
    expires_at: i64,
    code_challenge: Option<Vec<u8>>,
    caller_state: Option<String>,
    begun_from: Option<String>,
    trial_session_id: Option<String>,
}

impl TryFrom<&Flow> for FlowRow {
    type Error = StoreError;

    fn try_from(flow: &Flow) -> StoreResult<Self> {
        let granted = flow.test_grant.as_ref();
        let identity = granted.map(|grant| to_json(&grant.identity));
        Ok(Self {
            app_id: flow.world.app_id.to_string(),
            environment: flow.world.environment.to_string(),
            state_hash: flow.state.0.to_vec(),
            provider: flow.provider.to_string(),
            secrets_key_version: flow.secrets.key_version.into(),
            secrets: flow.secrets.bytes.clone(),
            redirect_uri: flow.redirect_uri.clone(),
            browser_hash: flow.browser.map(|hash| hash.0.to_vec()),
            login_url: flow.login_url.clone(),
            registration_url: flow.registration_url.clone(),
            test_code_hash: granted.map(|grant| grant.code.0.to_vec()),
            test_identity: identity.transpose()?,
            expires_at: flow.expires_at.unix(),
            code_challenge: flow.challenge.map(|challenge| challenge.0.to_vec()),
            caller_state: flow
                .caller_state
                .as_ref()
                .map(|state| state.as_str().to_owned()),
            begun_from: flow.begun_from.clone(),
            trial_session_id: flow.trial.map(|session| session.to_string()),
        })
    }
}

impl TryFrom<FlowRow> for Flow {
    type Error = StoreError;

    fn try_from(row: FlowRow) -> StoreResult<Self> {
        let table = Table("oauth_flows");
        let browser = row.browser_hash.as_deref();
        let browser = browser.map(|bytes| hash(&table, "browser_hash", bytes));
        let test_grant = match (row.test_code_hash, row.test_identity) {
            (Some(code), Some(identity)) => Some(TestGrant {
                code: hash(&table, "test_code_hash", &code)?,
                identity: table.json("test_identity", &identity)?,
            }),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(table.corrupt("test_identity")),
        };
        let trial = row.trial_session_id.as_deref();
        let trial = trial.map(|id| table.parse("trial_session_id", id));
        let caller_state = row.caller_state.as_deref();
        let caller_state = caller_state.map(|state| table.parse("caller_state", state));
        Ok(Self {
            state: hash(&table, "state_hash", &row.state_hash)?,
            world: table.world(&row.app_id, &row.environment)?,
            provider: table.parse("provider", &row.provider)?,
            secrets: Sealed {
                key_version: table.small("secrets_key_version", row.secrets_key_version)?,
                bytes: row.secrets,
            },
            redirect_uri: row.redirect_uri,
            browser: browser.transpose()?,
            login_url: row.login_url,
            registration_url: row.registration_url,
            challenge: challenge(&table, row.code_challenge)?,
            caller_state: caller_state.transpose()?,
            begun_from: row.begun_from,
            test_grant,
            trial: trial.transpose()?,
            expires_at: Timestamp::from_unix(row.expires_at),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = oauth_tokens, treat_none_as_default_value = false)]
pub struct PendingRow {
    app_id: String,
    environment: String,
    token_hash: Vec<u8>,
    provider: String,
    state_hash: Vec<u8>,
    identity_key_version: i64,
    identity: Vec<u8>,
    expires_at: i64,
    code_challenge: Option<Vec<u8>>,
    begun_from: Option<String>,
}

impl From<&Pending> for PendingRow {
    fn from(pending: &Pending) -> Self {
        Self {
            app_id: pending.world.app_id.to_string(),
            environment: pending.world.environment.to_string(),
            token_hash: pending.token.0.to_vec(),
            provider: pending.provider.to_string(),
            state_hash: pending.state.0.to_vec(),
            identity_key_version: pending.identity.key_version.into(),
            identity: pending.identity.bytes.clone(),
            expires_at: pending.expires_at.unix(),
            code_challenge: pending.challenge.map(|challenge| challenge.0.to_vec()),
            begun_from: pending.begun_from.clone(),
        }
    }
}

impl TryFrom<PendingRow> for Pending {
    type Error = StoreError;

    fn try_from(row: PendingRow) -> StoreResult<Self> {
        let table = Table("oauth_tokens");
        Ok(Self {
            token: hash(&table, "token_hash", &row.token_hash)?,
            world: table.world(&row.app_id, &row.environment)?,
            provider: table.parse("provider", &row.provider)?,
            state: hash(&table, "state_hash", &row.state_hash)?,
            identity: Sealed {
                key_version: table.small("identity_key_version", row.identity_key_version)?,
                bytes: row.identity,
            },
            challenge: challenge(&table, row.code_challenge)?,
            begun_from: row.begun_from,
            expires_at: Timestamp::from_unix(row.expires_at),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = provider_links, treat_none_as_default_value = false)]
pub struct ProviderLinkRow {
    pub(super) app_id: String,
    pub(super) environment: String,
    id: String,
    user_id: String,
    provider: String,
    issuer: String,
    subject: String,
    email_id: Option<String>,
    created_at: i64,
    updated_at: i64,
}

impl From<&ProviderLink> for ProviderLinkRow {
    fn from(link: &ProviderLink) -> Self {
        Self {
            app_id: link.world.app_id.to_string(),
            environment: link.world.environment.to_string(),
            id: link.id.to_string(),
            user_id: link.user_id.to_string(),
            provider: link.provider.to_string(),
            issuer: link.issuer.clone(),
            subject: link.subject.clone(),
            email_id: link.email_id.map(|id| id.to_string()),
            created_at: link.created_at.unix(),
            updated_at: link.updated_at.unix(),
        }
    }
}

impl TryFrom<ProviderLinkRow> for ProviderLink {
    type Error = StoreError;

    fn try_from(row: ProviderLinkRow) -> StoreResult<Self> {
        let table = Table("provider_links");
        let email_id = row.email_id.map(|id| table.parse("email_id", &id));
        Ok(Self {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            user_id: table.parse("user_id", &row.user_id)?,
            provider: table.parse("provider", &row.provider)?,
            issuer: row.issuer,
            subject: row.subject,
            email_id: email_id.transpose()?,
            created_at: Timestamp::from_unix(row.created_at),
            updated_at: Timestamp::from_unix(row.updated_at),
        })
    }
}

fn hash(table: &Table, column: &'static str, bytes: &[u8]) -> StoreResult<TokenHash> {
    let bytes = bytes.try_into();
    bytes.map(TokenHash).map_err(|_other| table.corrupt(column))
}

fn challenge(table: &Table, bytes: Option<Vec<u8>>) -> StoreResult<Option<CodeChallenge>> {
    let hash = bytes.map(|bytes| hash(table, "code_challenge", &bytes));
    Ok(hash.transpose()?.map(|hash| CodeChallenge(hash.0)))
}
