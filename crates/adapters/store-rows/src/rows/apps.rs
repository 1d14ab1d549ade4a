//! Rows of Apps and their configuration.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::api_key::{ApiKey, KeyUse, Restrictions, Scope};
use vestry_domain::app::App;
use vestry_domain::envelope::{AppKey, Sealed, WrappedKey};
use vestry_domain::operation::Operation;
use vestry_domain::redirect::RedirectTarget;
use vestry_domain::signing_key::SigningKey;
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{RedirectUrl, StoreError, StoreResult};

use super::{Table, to_json};
use crate::schema::{api_key_uses, api_keys, app_keys, apps, redirect_urls, signing_keys};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = apps, treat_none_as_default_value = false)]
pub struct AppRow {
    id: String,
    name: String,
    settings: String,
    created_at: i64,
    updated_at: i64,
    test_clock: String,
    named_events: String,
    disabled_at: Option<i64>,
}

impl TryFrom<&App> for AppRow {
    type Error = StoreError;

    fn try_from(app: &App) -> StoreResult<Self> {
        Ok(Self {
            id: app.id.to_string(),
            name: app.name.clone(),
            settings: to_json(&app.settings)?,
            created_at: app.created_at.unix(),
            updated_at: app.updated_at.unix(),
            test_clock: to_json(&app.test_clock)?,
            named_events: to_json(&app.named_events)?,
            disabled_at: app.disabled_at.map(Timestamp::unix),
        })
    }
}

impl TryFrom<AppRow> for App {
    type Error = StoreError;

    fn try_from(row: AppRow) -> StoreResult<Self> {
        let table = Table("apps");
        Ok(Self {
            id: table.parse("id", &row.id)?,
            settings: table.json("settings", &row.settings)?,
            name: row.name,
            created_at: Timestamp::from_unix(row.created_at),
            updated_at: Timestamp::from_unix(row.updated_at),
            test_clock: table.json("test_clock", &row.test_clock)?,
            named_events: table.json("named_events", &row.named_events)?,
            disabled_at: row.disabled_at.map(Timestamp::from_unix),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = api_keys, treat_none_as_default_value = false)]
pub struct ApiKeyRow {
    pub app_id: String,
    pub environment: String,
    pub id: String,
    kind: String,
    hash: Vec<u8>,
    last_four: String,
    pub name: String,
    pub scopes: String,
    pub restrictions: String,
    created_by: String,
    created_at: i64,
    revoked_at: Option<i64>,
}

impl TryFrom<&ApiKey> for ApiKeyRow {
    type Error = StoreError;

    fn try_from(key: &ApiKey) -> StoreResult<Self> {
        let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.as_str()).collect();
        Ok(Self {
            app_id: key.world.app_id.to_string(),
            environment: key.world.environment.to_string(),
            id: key.id.to_string(),
            kind: key.kind.to_string(),
            hash: key.hash.0.to_vec(),
            last_four: key.last_four.clone(),
            name: key.name.clone(),
            scopes: to_json(&scopes)?,
            restrictions: to_json(&key.restrictions)?,
            created_by: key.created_by.to_string(),
            created_at: key.created_at.unix(),
            revoked_at: key.revoked_at.map(Timestamp::unix),
        })
    }
}

impl TryFrom<ApiKeyRow> for ApiKey {
    type Error = StoreError;

    fn try_from(row: ApiKeyRow) -> StoreResult<Self> {
        let table = Table("api_keys");
        let scopes: Vec<String> = table.json("scopes", &row.scopes)?;
        let scopes = scopes.iter().map(|scope| table.parse("scopes", scope));
        let hash = row.hash.try_into();
        let restrictions = Restrictions::from_stored(&row.restrictions);
        Ok(Self {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            kind: table.parse("kind", &row.kind)?,
            hash: TokenHash(hash.map_err(|_other_length| table.corrupt("hash"))?),
            last_four: row.last_four,
            name: row.name,
            scopes: scopes.collect::<StoreResult<Vec<Scope>>>()?,
            restrictions: restrictions.map_err(|_unknown| table.corrupt("restrictions"))?,
            created_by: table.parse("created_by", &row.created_by)?,
            created_at: Timestamp::from_unix(row.created_at),
            revoked_at: row.revoked_at.map(Timestamp::from_unix),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = api_key_uses, treat_none_as_default_value = false)]
pub struct KeyUseRow {
    app_id: String,
    environment: String,
    key_id: String,
    operation: String,
    last_used_at: i64,
}

impl KeyUseRow {
    /// Whether this build knows the operation.
    pub fn is_known(&self) -> bool {
        self.operation.parse::<Operation>().is_ok()
    }
}

impl From<&KeyUse> for KeyUseRow {
    fn from(fresh: &KeyUse) -> Self {
        Self {
            app_id: fresh.world.app_id.to_string(),
            environment: fresh.world.environment.to_string(),
            key_id: fresh.key.to_string(),
            operation: fresh.operation.to_string(),
            last_used_at: fresh.at.unix(),
        }
    }
}

impl TryFrom<KeyUseRow> for KeyUse {
    type Error = StoreError;

    fn try_from(row: KeyUseRow) -> StoreResult<Self> {
        let table = Table("api_key_uses");
        Ok(Self {
            world: table.world(&row.app_id, &row.environment)?,
            key: table.parse("key_id", &row.key_id)?,
            operation: table.parse("operation", &row.operation)?,
            at: Timestamp::from_unix(row.last_used_at),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = redirect_urls, treat_none_as_default_value = false)]
pub struct RedirectUrlRow {
    app_id: String,
    environment: String,
    id: String,
    kind: String,
    target: String,
    is_default: bool,
    created_at: i64,
}

impl RedirectUrlRow {
    /// Returns the row of a URL that is not the default yet; the default is chosen after the insert.
    pub fn not_default(url: &RedirectUrl) -> Self {
        Self {
            app_id: url.world.app_id.to_string(),
            environment: url.world.environment.to_string(),
            id: url.id.to_string(),
            kind: url.kind.to_string(),
            target: url.target.as_str().to_owned(),
            is_default: false,
            created_at: url.created_at.unix(),
        }
    }
}

impl TryFrom<RedirectUrlRow> for RedirectUrl {
    type Error = StoreError;

    fn try_from(row: RedirectUrlRow) -> StoreResult<Self> {
        let table = Table("redirect_urls");
        let target = RedirectTarget::parse(&row.target);
        Ok(Self {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            kind: table.parse("kind", &row.kind)?,
            target: target.map_err(|_refused| table.corrupt("target"))?,
            is_default: row.is_default,
            created_at: Timestamp::from_unix(row.created_at),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = app_keys, treat_none_as_default_value = false)]
pub struct AppKeyRow {
    app_id: String,
    environment: String,
    purpose: String,
    version: i64,
    root_version: i64,
    wrapped: Vec<u8>,
    created_at: i64,
}

impl From<&AppKey> for AppKeyRow {
    fn from(key: &AppKey) -> Self {
        Self {
            app_id: key.world.app_id.to_string(),
            environment: key.world.environment.to_string(),
            purpose: key.purpose.to_string(),
            version: key.version.into(),
            root_version: key.wrapped.root_version.into(),
            wrapped: key.wrapped.bytes.clone(),
            created_at: key.created_at.unix(),
        }
    }
}

impl TryFrom<AppKeyRow> for AppKey {
    type Error = StoreError;

    fn try_from(row: AppKeyRow) -> StoreResult<Self> {
        let table = Table("app_keys");
        Ok(Self {
            world: table.world(&row.app_id, &row.environment)?,
            purpose: table.parse("purpose", &row.purpose)?,
            version: table.small("version", row.version)?,
            wrapped: WrappedKey {
                root_version: table.small("root_version", row.root_version)?,
                bytes: row.wrapped,
            },
            created_at: Timestamp::from_unix(row.created_at),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = signing_keys, treat_none_as_default_value = false)]
pub struct SigningKeyRow {
    app_id: String,
    environment: String,
    id: String,
    algorithm: String,
    public_jwk: String,
    private_key_version: i64,
    private: Vec<u8>,
    created_at: i64,
    active_from: i64,
}

impl From<&SigningKey> for SigningKeyRow {
    fn from(key: &SigningKey) -> Self {
        let World {
            app_id,
            environment,
        } = key.world;
        Self {
            app_id: app_id.to_string(),
            environment: environment.to_string(),
            id: key.id.to_string(),
            algorithm: key.algorithm.to_string(),
            public_jwk: key.public_jwk.to_string(),
            private_key_version: key.private.key_version.into(),
            private: key.private.bytes.clone(),
            created_at: key.created_at.unix(),
            active_from: key.active_from.unix(),
        }
    }
}

impl TryFrom<SigningKeyRow> for SigningKey {
    type Error = StoreError;

    fn try_from(row: SigningKeyRow) -> StoreResult<Self> {
        let table = Table("signing_keys");
        Ok(Self {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            algorithm: table.parse("algorithm", &row.algorithm)?,
            public_jwk: table.json("public_jwk", &row.public_jwk)?,
            private: Sealed {
                key_version: table.small("private_key_version", row.private_key_version)?,
                bytes: row.private,
            },
            created_at: Timestamp::from_unix(row.created_at),
            active_from: Timestamp::from_unix(row.active_from),
        })
    }
}
