//! `/v1/manage/apps/{app_id}/config`

pub(crate) mod get;
pub(crate) mod put;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::Object;
use vestry_domain::config::ConfigChange;

/// The configuration of an App, without secrets and ids. A part that is absent is not described.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a view")]
pub(crate) struct Config {
    /// Every setting by name, as `getSettings` returns them. One that is not sent gets its default value.
    #[schema(required = false)]
    settings: Object,
    /// The test environment.
    #[schema(required = false)]
    test: ConfigSection,
    /// The live environment.
    #[schema(required = false)]
    live: ConfigSection,
}

/// The configuration of one environment. Objects that are not listed are removed.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a view")]
struct ConfigSection {
    /// By kind and URL.
    #[schema(required = false)]
    redirect_urls: Vec<ConfigRedirectUrl>,
    /// The identity providers by name.
    #[schema(required = false)]
    providers: BTreeMap<String, ConfigProvider>,
    /// By URL and types.
    #[schema(required = false)]
    webhook_endpoints: Vec<ConfigWebhookEndpoint>,
}

/// A redirect URL in a configuration.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a view")]
struct ConfigRedirectUrl {
    #[schema(pattern = "^(login|registration|invite)$")]
    kind: String,
    url: String,
    /// Whether calls that name no URL use it.
    #[schema(required = false)]
    default: bool,
}

/// An identity provider in a configuration. A new one has no client secret until `setProvider` sets it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a view")]
struct ConfigProvider {
    /// The id that the provider gave the App.
    client_id: String,
    /// The optional settings, as docs/oauth.md describes them.
    #[schema(required = false)]
    settings: Object,
}

/// A webhook endpoint in a configuration. `rotateWebhookSecret` shows the secret of a new one.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a view")]
struct ConfigWebhookEndpoint {
    /// The URL. Another URL is another endpoint, with a secret of its own.
    url: String,
    name: Option<String>,
    /// Event types: names, `group.*`, or `*` for all, which is the default.
    #[schema(required = false)]
    types: Vec<String>,
}

/// The changes that lead from the present configuration to the document.
#[derive(Serialize, ToSchema)]
pub(crate) struct ConfigPlan {
    /// None if the document describes the present configuration.
    changes: Vec<Change>,
}

/// A change of one value or object.
#[derive(Serialize, ToSchema)]
#[schema(as = ConfigChange)]
struct Change {
    /// Its path in the document, such as `live.providers.google.client_id`.
    path: String,
    /// The value before; `null` for an object that is added.
    from: Value,
    /// The value after; `null` for an object that is removed.
    to: Value,
}

impl From<Vec<ConfigChange>> for ConfigPlan {
    fn from(changes: Vec<ConfigChange>) -> Self {
        let changes = changes.into_iter();
        let changes = changes.map(|ConfigChange { path, from, to }| Change { path, from, to });
        Self {
            changes: changes.collect(),
        }
    }
}
