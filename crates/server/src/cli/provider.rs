//! `vestry provider`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use vestry_app::Principal;
use vestry_app::platform::ListedConnection;
use vestry_domain::provider::{AppleKey, ConnectionSettings, ProviderName, TokenEndpointAuth};
use vestry_edge::views::{ProviderView, views};

use super::args::{InApp, InWorld};
use super::installation::Installation;
use crate::failure::Failure;
use crate::output::{Output, date, table};
use crate::private_file;

/// The subcommands of `vestry provider`.
#[derive(Debug, Subcommand)]
pub(crate) enum Provider {
    /// Create or replace an identity provider connection
    #[command(after_help = "\
google, apple, microsoft, github and discord are built in. Any other name is a
custom OpenID Connect issuer (--issuer). The output shows the callback URL to enter
in the provider's console; docs/providers describes where. Replacing a connection
keeps its callback URL; options that you omit are reset.

Examples:
  vestry provider set app_… live google --client-id 1234.apps.googleusercontent.com \\
    --client-secret-file google.secret
  vestry provider set app_… live apple --client-id com.example.web \\
    --client-secret-file AuthKey_ABC.p8 --apple-team-id TEAM --apple-key-id ABC
  vestry provider set app_… live acme --issuer https://id.acme.example \\
    --client-id vestry --client-secret-file acme.secret --trust-email-verified")]
    Set(Box<Connection>),
    /// List an App's connections and their callback URLs
    List(InApp),
    /// Remove a provider connection (existing user links are kept)
    Remove {
        #[command(flatten)]
        of: InWorld,
        /// Provider name
        name: ProviderName,
    },
}

/// The arguments of `vestry provider set`.
#[derive(Debug, Args)]
pub(crate) struct Connection {
    #[command(flatten)]
    of: InWorld,
    /// google, apple, microsoft, github, discord, or a name for a custom OpenID Connect issuer
    name: ProviderName,
    /// Client ID issued by the provider
    #[arg(long, value_name = "ID")]
    client_id: String,
    /// File with the client secret (apple: the .p8 private key)
    #[arg(long, value_name = "FILE")]
    client_secret_file: PathBuf,
    /// Issuer URL, exactly as the provider publishes it; for one microsoft tenant it ends with /TENANT/v2.0
    #[arg(long, value_name = "URL")]
    issuer: Option<String>,
    /// Override the built-in or discovered authorization endpoint
    #[arg(long, value_name = "URL")]
    authorization_endpoint: Option<String>,
    /// Override the built-in or discovered token endpoint
    #[arg(long, value_name = "URL")]
    token_endpoint: Option<String>,
    /// Override the built-in or discovered userinfo endpoint
    #[arg(long, value_name = "URL")]
    userinfo_endpoint: Option<String>,
    /// Override the discovered JWKS URL
    #[arg(long, value_name = "URL")]
    jwks_uri: Option<String>,
    /// Override the discovered method: client_secret_basic or client_secret_post
    #[arg(long, value_name = "METHOD")]
    token_endpoint_auth_method: Option<TokenEndpointAuth>,
    /// microsoft: tenant IDs whose email addresses are trusted
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    tenant: Vec<String>,
    /// Custom issuer: treat its email_verified as verification by code
    #[arg(long)]
    trust_email_verified: bool,
    /// apple: team ID
    #[arg(long, value_name = "ID")]
    apple_team_id: Option<String>,
    /// apple: key ID
    #[arg(long, value_name = "ID")]
    apple_key_id: Option<String>,
    /// Return the provider's tokens from oauth/verify; otherwise they are stored encrypted only
    #[arg(long)]
    store_tokens: bool,
    /// Scopes in addition to those required for sign-in
    #[arg(long, value_delimiter = ',')]
    scope: Vec<String>,
}

impl Provider {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let service = installation.service().await?;
        if !matches!(self, Self::Remove { .. }) {
            installation.require_base_url(|| {
                Failure::new("http.base_url is not set; callback URLs begin with it. Set it as for `vestry serve`")
            })?;
        }
        match self {
            Self::Set(set) => {
                let (world, name, client_id) =
                    (set.of.world(), set.name.clone(), set.client_id.clone());
                let secret = private_file::read_secret(&set.client_secret_file)?;
                let set = service.set_provider(
                    Principal::cli(),
                    world,
                    name,
                    &client_id,
                    &secret,
                    settings(*set),
                );
                Ok(list(&[set.await?]))
            }
            Self::List(of) => Ok(list(
                &service
                    .list_providers(Principal::cli(), of.app.into())
                    .await?,
            )),
            Self::Remove { of, name } => {
                service
                    .remove_provider(Principal::cli(), of.world(), &name)
                    .await?;
                Ok(Output::new(
                    json!({ "provider": name.as_str(), "removed": true }),
                    format!("Removed {name}."),
                ))
            }
        }
    }
}

fn settings(set: Connection) -> ConnectionSettings {
    let apple = match (set.apple_team_id, set.apple_key_id) {
        (None, None) => None,
        (team_id, key_id) => Some(AppleKey {
            team_id: team_id.unwrap_or_default(),
            key_id: key_id.unwrap_or_default(),
        }),
    };
    ConnectionSettings {
        issuer: set.issuer,
        authorization_endpoint: set.authorization_endpoint,
        token_endpoint: set.token_endpoint,
        userinfo_endpoint: set.userinfo_endpoint,
        jwks_uri: set.jwks_uri,
        token_endpoint_auth_method: set.token_endpoint_auth_method,
        tenants: set.tenant,
        trust_email_verified: set.trust_email_verified,
        apple,
        store_tokens: set.store_tokens,
        scopes: set.scope,
    }
}

fn list(connections: &[ListedConnection]) -> Output {
    let documents: Vec<ProviderView<'_>> = views(connections);
    let row = |listed: &ListedConnection| {
        let connection = &listed.connection;
        [
            connection.name.to_string(),
            connection.world.environment.to_string(),
            connection.client_id.clone(),
            date(connection.updated_at),
            listed.callback_url.clone(),
        ]
    };
    let text = table(
        [
            "PROVIDER",
            "ENVIRONMENT",
            "CLIENT ID",
            "SET",
            "CALLBACK URL (enter it in the provider's console)",
        ],
        connections.iter().map(row),
        "No provider connections. Test environments always have the built-in provider `test`; see docs/oauth.md.",
    );
    Output::new(json!({ "providers": documents }), text)
}
