//! `/v1/manage/apps/{app_id}/{environment}/providers`

pub(crate) mod check;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod put;

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::Object;
use vestry_app::platform::{self, NewConnection};
use vestry_domain::Secret;
use vestry_domain::provider::{ConnectionSettings, ProviderName};

/// A connection to an identity provider.
#[derive(ToSchema)]
#[schema(as = ManagedProvider)]
#[expect(dead_code, reason = "describes a view")]
pub(crate) struct Provider {
    /// The name of the provider.
    provider: String,
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    #[schema(pattern = "^(test|live)$")]
    environment: String,
    /// The id that the provider gave the App.
    client_id: String,
    /// The optional settings, as docs/oauth.md describes them.
    settings: Object,
    secret: ClientSecret,
    /// The URL to register with the provider.
    callback_url: String,
    created_at: i64,
    updated_at: i64,
}

/// The visible part of a client secret.
#[derive(ToSchema)]
#[schema(as = ManagedClientSecret)]
#[expect(dead_code, reason = "describes a view")]
struct ClientSecret {
    /// Whether there is one.
    set: bool,
    /// Its last four characters; `null` if it has fewer than 16, or if it is a private key.
    #[schema(required = true)]
    last_four: Option<String>,
    /// When it was set, in Unix seconds; `null` while there is none.
    #[schema(required = true)]
    updated_at: Option<i64>,
}

/// The identity providers of an environment.
#[derive(ToSchema)]
#[schema(as = ProviderList)]
#[expect(dead_code, reason = "describes a response")]
pub(crate) struct Providers {
    /// By name.
    providers: Vec<Provider>,
}

/// The checks of an identity provider.
#[derive(Serialize, ToSchema)]
#[schema(as = ProviderCheckList)]
pub(crate) struct ProviderChecks {
    /// In the order in which they were made. Those that the provider does not need are absent, and all further ones after a problem of
    /// `discovery`.
    checks: Vec<ProviderCheck>,
}

/// A check of an identity provider.
#[derive(Serialize, ToSchema)]
struct ProviderCheck {
    #[schema(pattern = "^(discovery|jwks|callback_url)$")]
    name: &'static str,
    /// Whether it found no problem.
    ok: bool,
    /// The state that was found, or the problem.
    detail: String,
}

impl From<Vec<platform::ProviderCheck>> for ProviderChecks {
    fn from(checks: Vec<platform::ProviderCheck>) -> Self {
        let checks = checks.into_iter().map(|check| ProviderCheck {
            name: check.name,
            ok: check.ok,
            detail: check.detail,
        });
        Self {
            checks: checks.collect(),
        }
    }
}

/// A connection to an identity provider. Fields of `getProvider` that cannot be set are accepted and ignored, so that its response can be
/// sent back.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SetProviderRequest)]
pub(crate) struct ProviderRequest {
    /// The id that the provider gave the App.
    client_id: String,
    /// The secret that belongs to it; absent, the stored one stays.
    client_secret: Option<String>,
    /// The optional settings, as docs/oauth.md describes them.
    #[schema(value_type = Option<Object>)]
    settings: Option<ConnectionSettings>,
    #[serde(default, rename = "provider")]
    #[schema(ignore)]
    _provider: IgnoredAny,
    #[serde(default, rename = "app_id")]
    #[schema(ignore)]
    _app_id: IgnoredAny,
    #[serde(default, rename = "environment")]
    #[schema(ignore)]
    _environment: IgnoredAny,
    // A text here is meant for `client_secret`, so it is refused.
    #[serde(default, rename = "secret")]
    #[schema(ignore)]
    _secret: BTreeMap<String, IgnoredAny>,
    #[serde(default, rename = "callback_url")]
    #[schema(ignore)]
    _callback_url: IgnoredAny,
    #[serde(default, rename = "created_at")]
    #[schema(ignore)]
    _created_at: IgnoredAny,
    #[serde(default, rename = "updated_at")]
    #[schema(ignore)]
    _updated_at: IgnoredAny,
}

impl ProviderRequest {
    fn connection(self, name: ProviderName) -> NewConnection {
        NewConnection {
            name,
            client_id: self.client_id,
            secret: self.client_secret.map(Secret::new),
            settings: self.settings.unwrap_or_default(),
        }
    }
}
