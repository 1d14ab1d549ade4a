//! `vestry key`

use clap::Subcommand;
use serde_json::json;
use vestry_app::Principal;
use vestry_app::platform::NewApiKey;
use vestry_domain::api_key::{ApiKey, ApiKeyKind, Scope};
use vestry_domain::ids::ApiKeyId;
use vestry_web::views::{ApiKeyView, views};

use super::args::{InApp, InWorld};
use super::installation::Installation;
use crate::failure::Failure;
use crate::output::{Output, date, table};

/// The subcommands of `vestry key`.
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Create a key (shown once)
    #[command(after_help = "\
Examples:
  vestry key create app_… live
  vestry key create app_… live --scope users:read,sessions:write
  vestry key create app_… test --public")]
    Create {
        #[command(flatten)]
        of: InWorld,
        /// Create a public token (pk_…), safe in browsers, instead of a secret key (sk_…)
        #[arg(long)]
        public: bool,
        /// Scopes of the key [default: all except wallets:export and audit:read]
        #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
        scope: Vec<Scope>,
    },
    /// List an App's keys, oldest first
    ///
    /// The keys themselves are not stored and cannot be shown.
    List(InApp),
    /// Create a replacement for a key with the same scopes
    #[command(after_help = "\
Both keys work until the old one is revoked.

Example:
  vestry key rotate app_… key_…           deploy the new key to your backend, then
  vestry key revoke app_… key_…           revoke the old one")]
    Rotate {
        #[command(flatten)]
        of: InApp,
        /// Key ID (key_…)
        key: ApiKeyId,
    },
    /// Revoke a key permanently (takes effect within a second)
    Revoke {
        #[command(flatten)]
        of: InApp,
        /// Key ID (key_…)
        key: ApiKeyId,
    },
}

impl Key {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let service = installation.service().await?;
        match self {
            Self::Create { of, public, scope } => {
                let kind = if public {
                    ApiKeyKind::Public
                } else {
                    ApiKeyKind::Secret
                };
                let made = service
                    .create_api_key(Principal::cli(), of.world(), kind, scope)
                    .await?;
                Ok(new(&made))
            }
            Self::List(of) => {
                let keys = service.list_api_keys(Principal::cli(), of.app).await?;
                let documents: Vec<ApiKeyView<'_>> = views(&keys);
                Ok(Output::new(json!({ "keys": documents }), list(&keys)))
            }
            Self::Rotate { of, key } => Ok(new(&service
                .rotate_api_key(Principal::cli(), of.app, key)
                .await?)),
            Self::Revoke { of, key } => {
                service
                    .revoke_api_key(Principal::cli(), of.app, key)
                    .await?;
                Ok(Output::new(
                    json!({ "id": key, "revoked": true }),
                    format!("Revoked {key}."),
                ))
            }
        }
    }
}

/// The output of a new key. No other output contains one.
fn new(made: &NewApiKey) -> Output {
    let key = made.key.expose();
    let ApiKey {
        id, world, kind, ..
    } = &made.record;
    Output::new(
        json!(ApiKeyView::from(made)),
        format!(
            "{key}\n\nThis is the {} {kind} key {id} of {}. It is shown only once.",
            world.environment, world.app_id,
        ),
    )
}

fn list(keys: &[ApiKey]) -> String {
    table(
        ["ID", "KEY", "CREATED", "STATE", "SCOPES"],
        keys.iter().map(row),
        "No keys. Create one: vestry key create APP test",
    )
}

fn row(key: &ApiKey) -> [String; 5] {
    let scopes: Vec<_> = key.scopes.iter().map(|scope| scope.as_str()).collect();
    let scopes = match (key.kind, scopes.is_empty()) {
        (ApiKeyKind::Public, _) => "sign-in redirects".to_owned(),
        (ApiKeyKind::Secret, true) => "all except wallets:export, audit:read".to_owned(),
        (ApiKeyKind::Secret, false) => scopes.join(" "),
    };
    let prefix = key.kind.prefix(key.world.environment);
    [
        key.id.to_string(),
        format!("{prefix}…{}", key.last_four),
        date(key.created_at),
        key.revoked_at
            .map_or_else(|| "active".to_owned(), |at| format!("revoked {}", date(at))),
        scopes,
    ]
}
