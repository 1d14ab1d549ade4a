//! JSON that several interfaces show: objects that operators administer, and options for passkeys.
//!
//! A view contains a secret only right after that secret was created.

mod passkey_options;
mod webhook;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use vestry_app::operators::{ListedOperator, NewManagementKey};
use vestry_app::platform::{ListedConnection, NewApiKey, RedirectUrl};
use vestry_domain::api_key::{ApiKey, KeyUse, Restrictions};
use vestry_domain::app::{App, AppSettings};
use vestry_domain::ids::{
    ApiKeyId, AppId, ManagementKeyId, OperatorLinkId, RedirectUrlId, SigningKeyId, UserId,
};
use vestry_domain::management_key::{ManagementKey, Rights};
use vestry_domain::operator::{Grants, OperatorLink, Role};
use vestry_domain::provider::ConnectionSettings;
use vestry_domain::signing_key::SigningKey;
use vestry_domain::{Environment, Timestamp};

pub use passkey_options::{CreationOptions, RequestOptions};
pub use webhook::{
    WebhookAttemptView, WebhookDeliveryView, WebhookEndpointView, WebhookReplayView,
};

/// The views of a list of objects.
pub fn views<'a, T, V: From<&'a T>>(objects: &'a [T]) -> Vec<V> {
    objects.iter().map(V::from).collect()
}

/// An App with its settings.
#[derive(Serialize)]
pub struct AppView<'a> {
    id: AppId,
    name: &'a str,
    disabled: bool,
    settings: &'a AppSettings,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl<'a> From<&'a App> for AppView<'a> {
    fn from(app: &'a App) -> Self {
        Self {
            id: app.id,
            name: &app.name,
            disabled: app.disabled_at.is_some(),
            settings: &app.settings,
            created_at: app.created_at,
            updated_at: app.updated_at,
        }
    }
}

/// An API key. The key itself is included only when it was just created.
#[derive(Serialize)]
pub struct ApiKeyView<'a> {
    id: ApiKeyId,
    app_id: AppId,
    environment: Environment,
    kind: &'static str,
    last_four: &'a str,
    name: &'a str,
    scopes: Vec<&'static str>,
    #[serde(flatten)]
    restrictions: &'a Restrictions,
    created_by: String,
    created_at: Timestamp,
    revoked_at: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
    /// The last use by operation.
    last_uses: BTreeMap<&'static str, Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
}

impl<'a> From<&'a ApiKey> for ApiKeyView<'a> {
    fn from(key: &'a ApiKey) -> Self {
        Self {
            id: key.id,
            app_id: key.world.app_id,
            environment: key.world.environment,
            kind: key.kind.as_str(),
            last_four: &key.last_four,
            name: &key.name,
            scopes: key.scopes.iter().map(|scope| scope.as_str()).collect(),
            restrictions: &key.restrictions,
            created_by: key.created_by.to_string(),
            created_at: key.created_at,
            revoked_at: key.revoked_at,
            last_used_at: None,
            last_uses: BTreeMap::new(),
            key: None,
        }
    }
}

impl ApiKeyView<'_> {
    /// Adds the last uses, of which those of other keys are ignored.
    #[must_use]
    pub fn used(mut self, uses: &[KeyUse]) -> Self {
        for used in uses.iter().filter(|used| used.key == self.id) {
            self.last_uses.insert(used.operation.as_str(), used.at);
        }
        self.last_used_at = self.last_uses.values().copied().max();
        self
    }
}

impl<'a> From<&'a NewApiKey> for ApiKeyView<'a> {
    fn from(new: &'a NewApiKey) -> Self {
        Self {
            key: Some(new.key.expose()),
            ..Self::from(&new.record)
        }
    }
}

/// A management key. The key itself is included only when it was just created.
#[derive(Serialize)]
pub struct ManagementKeyView<'a> {
    id: ManagementKeyId,
    last_four: &'a str,
    name: &'a str,
    #[serde(flatten)]
    rights: &'a Rights,
    expires_at: Timestamp,
    created_by: String,
    created_at: Timestamp,
    revoked_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
}

impl<'a> From<&'a ManagementKey> for ManagementKeyView<'a> {
    fn from(key: &'a ManagementKey) -> Self {
        Self {
            id: key.id,
            last_four: &key.last_four,
            name: &key.name,
            rights: &key.rights,
            expires_at: key.expires_at,
            created_by: key.created_by.to_string(),
            created_at: key.created_at,
            revoked_at: key.revoked_at,
            key: None,
        }
    }
}

impl<'a> From<&'a NewManagementKey> for ManagementKeyView<'a> {
    fn from(new: &'a NewManagementKey) -> Self {
        Self {
            key: Some(new.key.expose()),
            ..Self::from(&new.record)
        }
    }
}

/// An operator: `roles` by App id, or `all` for every App.
#[derive(Serialize)]
pub struct OperatorView<'a> {
    user_id: UserId,
    email: &'a str,
    roles: BTreeMap<String, Role>,
    disabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    second_factor: Option<bool>,
    created_by: String,
    created_at: Timestamp,
}

impl<'a> From<&'a ListedOperator> for OperatorView<'a> {
    fn from(listed: &'a ListedOperator) -> Self {
        let operator = &listed.operator;
        Self {
            user_id: operator.user_id,
            email: &listed.email,
            roles: roles(&operator.grants),
            disabled: listed.is_disabled,
            second_factor: listed.has_second_factor,
            created_by: operator.created_by.to_string(),
            created_at: operator.created_at,
        }
    }
}

/// An invitation, without its link.
#[derive(Serialize)]
pub struct InvitationView<'a> {
    id: OperatorLinkId,
    email: &'a str,
    roles: BTreeMap<String, Role>,
    created_by: String,
    created_at: Timestamp,
    expires_at: Timestamp,
}

impl<'a> From<&'a OperatorLink> for InvitationView<'a> {
    fn from(link: &'a OperatorLink) -> Self {
        Self {
            id: link.id,
            email: link.email.address(),
            roles: link.grants.as_ref().map(roles).unwrap_or_default(),
            created_by: link.created_by.to_string(),
            created_at: link.created_at,
            expires_at: link.expires_at,
        }
    }
}

fn roles(grants: &Grants) -> BTreeMap<String, Role> {
    let all = grants.in_all().map(|role| ("all".to_owned(), role));
    let own = grants.in_apps().map(|(app, role)| (app.to_string(), role));
    all.into_iter().chain(own).collect()
}

/// A registered redirect URL.
#[derive(Serialize)]
pub struct RedirectUrlView<'a> {
    id: RedirectUrlId,
    app_id: AppId,
    environment: Environment,
    kind: &'static str,
    url: &'a str,
    default: bool,
    created_at: Timestamp,
}

impl<'a> From<&'a RedirectUrl> for RedirectUrlView<'a> {
    fn from(url: &'a RedirectUrl) -> Self {
        Self {
            id: url.id,
            app_id: url.world.app_id,
            environment: url.world.environment,
            kind: url.kind.as_str(),
            url: url.target.as_str(),
            default: url.is_default,
            created_at: url.created_at,
        }
    }
}

/// A connection to an identity provider, without its client secret.
#[derive(Serialize)]
pub struct ProviderView<'a> {
    provider: &'a str,
    app_id: AppId,
    environment: Environment,
    client_id: &'a str,
    settings: &'a ConnectionSettings,
    secret: ClientSecretView<'a>,
    callback_url: &'a str,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// The visible part of a client secret.
#[derive(Serialize)]
struct ClientSecretView<'a> {
    set: bool,
    last_four: Option<&'a str>,
    updated_at: Option<Timestamp>,
}

impl<'a> From<&'a ListedConnection> for ProviderView<'a> {
    fn from(listed: &'a ListedConnection) -> Self {
        let connection = &listed.connection;
        Self {
            provider: connection.name.as_str(),
            app_id: connection.world.app_id,
            environment: connection.world.environment,
            client_id: &connection.client_id,
            settings: &connection.settings,
            secret: ClientSecretView {
                set: listed.secret.is_some(),
                last_four: listed
                    .secret
                    .as_ref()
                    .and_then(|hint| hint.last_four.as_deref()),
                updated_at: listed.secret.as_ref().map(|hint| hint.updated_at),
            },
            callback_url: &listed.callback_url,
            created_at: connection.created_at,
            updated_at: connection.updated_at,
        }
    }
}

/// A signing key, without its private half.
#[derive(Serialize)]
pub struct SigningKeyView<'a> {
    id: SigningKeyId,
    app_id: AppId,
    environment: Environment,
    algorithm: &'static str,
    public_jwk: &'a Value,
    created_at: Timestamp,
    active_from: Timestamp,
}

impl<'a> From<&'a SigningKey> for SigningKeyView<'a> {
    fn from(key: &'a SigningKey) -> Self {
        Self {
            id: key.id,
            app_id: key.world.app_id,
            environment: key.world.environment,
            algorithm: key.algorithm.as_str(),
            public_jwk: &key.public_jwk,
            created_at: key.created_at,
            active_from: key.active_from,
        }
    }
}
