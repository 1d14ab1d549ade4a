//! `vestry manage-key`

use clap::{Args, Subcommand};
use ipnet::IpNet;
use serde_json::json;
use vestry_app::Principal;
use vestry_app::operators::{NewManagementKey, NewManagementKeyFields};
use vestry_domain::api_key;
use vestry_domain::ids::{AppId, ManagementKeyId};
use vestry_domain::management_key::{Apps, ManagementKey, Rights};
use vestry_domain::management_scope::ManagementScope;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp};
use vestry_edge::views::{ManagementKeyView, views};

use super::args::{customers_app, duration};
use super::installation::Installation;
use crate::failure::Failure;
use crate::output::{Output, date, table};

/// The subcommands of `vestry manage-key`.
#[derive(Debug, Subcommand)]
pub(crate) enum ManageKey {
    /// Create a key for the management API (shown once)
    ///
    /// It administers Apps over HTTP under /v1/manage, as vestry app, key, redirect-url, provider, signing-key and webhook do on the
    /// server.
    #[command(after_help = "\
Scopes (write includes read, except for users, sessions and wallets):
  apps:read apps:write settings:read settings:write keys:read keys:write
  providers:read providers:write redirect_urls:read redirect_urls:write
  webhooks:read webhooks:write operators:read operators:write audit:read users:read
  users:write sessions:write wallets:read wallets:write events:read

A key with keys:write can create secret keys, so it is as powerful as the keys of its Apps.

Examples:
  vestry manage-key create terraform --app all --environment test,live \\
      --scope apps:write,settings:write,redirect_urls:write,webhooks:write --expires-in 90d
  vestry manage-key create support --app app_… --environment live \\
      --scope users:read,users:write,sessions:write --expires-in 30d --ip-allow 203.0.113.0/24")]
    Create(Create),
    /// List the management keys and what each can do, oldest first
    List,
    /// Revoke a management key permanently (takes effect at once)
    Revoke {
        /// Key ID (key_…)
        key: ManagementKeyId,
    },
}

/// The rights of a new key. Lists are separated by commas.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Name of the key, such as the program that uses it (1 to 100 characters)
    name: String,
    /// Apps that the key administers: `all`, or App IDs
    #[arg(long, value_name = "APP", value_delimiter = ',', required = true, value_parser = app)]
    app: Vec<Option<AppId>>,
    /// Environments of these Apps: test, live or both. Settings of an App belong to both
    #[arg(
        long,
        value_name = "ENVIRONMENT",
        value_delimiter = ',',
        required = true
    )]
    environment: Vec<Environment>,
    /// What the key can do
    #[arg(long, value_name = "SCOPE", value_delimiter = ',', required = true)]
    scope: Vec<ManagementScope>,
    /// Expire after this time, such as 90d or 12h (at most 365d)
    #[arg(long, value_name = "TIME", value_parser = duration, required_unless_present = "expires_at")]
    expires_in: Option<Seconds>,
    /// Expire at this time (Unix seconds, at most 365 days ahead)
    #[arg(long, value_name = "UNIX", conflicts_with = "expires_in")]
    expires_at: Option<i64>,
    /// Accept the key only from these networks, such as 203.0.113.0/24 or one address (1 to 50)
    #[arg(long, value_name = "CIDR", value_delimiter = ',', value_parser = api_key::network)]
    ip_allow: Vec<IpNet>,
}

/// Parses an App ID, or `all` as `None`.
fn app(text: &str) -> Result<Option<AppId>, String> {
    match text {
        Apps::ALL_WORD => Ok(None),
        id => customers_app(id).map(Some),
    }
}

impl Create {
    fn into_fields(self, now: Timestamp) -> Result<NewManagementKeyFields, Failure> {
        let listed: Vec<AppId> = self.app.iter().copied().flatten().collect();
        let has_all = self.app.contains(&None);
        if has_all && !listed.is_empty() {
            let message = "--app takes either all or a list of App IDs";
            return Err(Failure::usage(message));
        }
        let expires_in = self.expires_in.map(|length| now + length);
        let expires_at = self.expires_at.map(Timestamp::from_unix).or(expires_in);
        let networks = Some(self.ip_allow).filter(|networks| !networks.is_empty());
        let apps = (!has_all).then_some(listed);
        let rights = Rights::new(apps, self.environment, self.scope, networks);
        Ok(NewManagementKeyFields {
            name: self.name,
            rights: rights.map_err(|invalid| Failure::usage(invalid.message))?,
            // The parser requires one of the two.
            expires_at: expires_at.unwrap_or(now),
        })
    }
}

impl ManageKey {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let service = installation.service().await?;
        let (by, now) = (Principal::cli(), service.machine_time());
        match self {
            Self::Create(create) => {
                let fields = create.into_fields(now)?;
                Ok(new(&service.create_management_key(by, fields).await?))
            }
            Self::List => {
                let keys = service.list_management_keys(by).await?;
                let documents: Vec<ManagementKeyView<'_>> = views(&keys);
                Ok(Output::new(json!({ "keys": documents }), list(&keys, now)))
            }
            Self::Revoke { key } => {
                service.revoke_management_key(by, key).await?;
                Ok(Output::new(
                    json!({ "id": key, "revoked": true }),
                    format!("Revoked {key}."),
                ))
            }
        }
    }
}

/// The output of a new key. No other output contains one.
fn new(made: &NewManagementKey) -> Output {
    let record = &made.record;
    Output::new(
        json!(ManagementKeyView::from(made)),
        format!(
            "{}\n\nThis is the management key {} ({}). It is shown only once and expires on {}.\nIt can: {}",
            made.key.expose(),
            record.id,
            record.name,
            date(record.expires_at),
            rights(record),
        ),
    )
}

fn list(keys: &[ManagementKey], now: Timestamp) -> String {
    let row = |key: &ManagementKey| {
        let state = match key.revoked_at {
            Some(at) => format!("revoked {}", date(at)),
            None if key.is_active(now) => format!("active until {}", date(key.expires_at)),
            None => format!("expired {}", date(key.expires_at)),
        };
        [
            key.id.to_string(),
            format!("mk_…{}", key.last_four),
            key.name.clone(),
            date(key.created_at),
            state,
            rights(key),
        ]
    };
    table(
        ["ID", "KEY", "NAME", "CREATED", "STATE", "CAN"],
        keys.iter().map(row),
        "No management keys. vestry manage-key create --help shows how to create one.",
    )
}

/// What a key can do, in words.
fn rights(key: &ManagementKey) -> String {
    fn joined<T: ToString>(values: &[T]) -> String {
        let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
        texts.join(" ")
    }
    let rights = &key.rights;
    let apps = match &rights.apps {
        Apps::All => "all Apps".to_owned(),
        Apps::Listed(apps) => joined(apps.values()),
    };
    let from = match &rights.ip_allow {
        None => String::new(),
        Some(networks) => format!("; only from {}", joined(networks.values())),
    };
    format!(
        "{} in {} of {apps}{from}",
        joined(rights.scopes.values()),
        joined(rights.environments.values()),
    )
}
