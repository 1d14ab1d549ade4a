//! `vestry operator sign-in`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use vestry_app::platform::ListedConnection;
use vestry_app::{Principal, Service};

use crate::failure::Failure;
use crate::output::{Output, date};
use crate::private_file;

/// The subcommands of `vestry operator sign-in`.
#[derive(Debug, Subcommand)]
pub(crate) enum SignIn {
    /// Set or replace the provider
    #[command(after_help = "\
There is one provider for all operators. It is found by OpenID Connect discovery, and
has to confirm e-mail addresses with email_verified. The output shows the callback URL
to register with it. That URL begins with console.base_url.

Example:
  vestry operator sign-in set --issuer https://id.acme.example --client-id vestry \\
    --client-secret-file acme.secret")]
    Set(Provider),
    /// Show the provider and the callback URL
    Show,
    /// Remove the provider (operators sign in with their other factors)
    Remove,
}

/// The arguments of `vestry operator sign-in set`.
#[derive(Debug, Args)]
pub(crate) struct Provider {
    /// Issuer URL, exactly as the provider publishes it
    #[arg(long, value_name = "URL")]
    issuer: String,
    /// Client ID issued by the provider
    #[arg(long, value_name = "ID")]
    client_id: String,
    /// File with the client secret
    #[arg(long, value_name = "FILE")]
    client_secret_file: PathBuf,
}

impl SignIn {
    pub(super) async fn run(self, service: &Service) -> Result<Output, Failure> {
        let by = Principal::cli();
        match self {
            Self::Set(provider) => {
                let secret = private_file::read_secret(&provider.client_secret_file)?;
                let (issuer, id) = (&provider.issuer, &provider.client_id);
                let set = service.set_company_sign_in(by, issuer, id, &secret);
                Ok(show(&set.await?))
            }
            Self::Show => Ok(show(&service.show_company_sign_in(by).await?)),
            Self::Remove => {
                service.remove_company_sign_in(by).await?;
                Ok(Output::new(
                    json!({ "removed": true }),
                    "Removed. Sessions that began with it stay until they end.",
                ))
            }
        }
    }
}

fn show(listed: &ListedConnection) -> Output {
    let connection = &listed.connection;
    let issuer = connection.settings.issuer.as_deref().unwrap_or_default();
    let (client_id, callback_url) = (&connection.client_id, &listed.callback_url);
    Output::new(
        json!({
            "issuer": issuer,
            "client_id": client_id,
            "callback_url": callback_url,
            "updated_at": connection.updated_at,
        }),
        format!(
            "Operators sign in with {issuer}, as client {client_id}. Set {}.\n\n\
             Register this callback URL with the provider:\n{callback_url}",
            date(connection.updated_at),
        ),
    )
}
