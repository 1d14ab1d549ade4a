//! `vestry redirect-url`

use clap::Subcommand;
use serde_json::json;
use vestry_app::Principal;
use vestry_app::platform;
use vestry_domain::ids::RedirectUrlId;
use vestry_domain::redirect::RedirectKind;
use vestry_edge::views::{RedirectUrlView, views};

use super::args::{InApp, InWorld};
use super::installation::Installation;
use crate::failure::Failure;
use crate::output::{Output, date, table};

/// The subcommands of `vestry redirect-url`.
#[derive(Debug, Subcommand)]
pub(crate) enum RedirectUrl {
    /// Register a redirect URL
    #[command(after_help = "\
Sign-ins redirect to registered URLs only.

Examples:
  vestry redirect-url add app_… live https://shop.example.com/signed-in --default
  vestry redirect-url add app_… live https://shop.example.com/welcome --kind registration,invite
  vestry redirect-url add app_… live 'https://*.example.com/signed-in'   the star matches one label
  vestry redirect-url add app_… live com.example.app:/signed-in          a native app with its own scheme
  vestry redirect-url add app_… live http://127.0.0.1/signed-in          a native app, on any port")]
    Add {
        #[command(flatten)]
        of: InWorld,
        /// https://…, loopback http://…, or a native app scheme (com.example.app:/…)
        url: String,
        /// Uses of the URL: login (existing users), registration (new), invite (invited)
        #[arg(
            long,
            value_name = "KIND",
            value_delimiter = ',',
            default_value = "login"
        )]
        kind: Vec<RedirectKind>,
        /// Make it the default for calls that name no URL
        #[arg(long)]
        default: bool,
    },
    /// List an App's redirect URLs, oldest first
    List(InApp),
    /// Remove a redirect URL
    Remove {
        #[command(flatten)]
        of: InApp,
        /// Redirect URL ID (redirect_…)
        id: RedirectUrlId,
    },
}

impl RedirectUrl {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let service = installation.service().await?;
        match self {
            Self::Add {
                of,
                url,
                kind,
                default,
            } => {
                let mut added = Vec::new();
                for kind in kind {
                    let url =
                        service.add_redirect_url(Principal::cli(), of.world(), kind, &url, default);
                    added.push(url.await?);
                }
                Ok(list(&added))
            }
            Self::List(of) => Ok(list(
                &service
                    .list_redirect_urls(Principal::cli(), of.app.into())
                    .await?,
            )),
            Self::Remove { of, id } => {
                service
                    .remove_redirect_url(Principal::cli(), of.app.into(), id)
                    .await?;
                Ok(Output::new(
                    json!({ "id": id, "removed": true }),
                    format!("Removed {id}."),
                ))
            }
        }
    }
}

fn list(urls: &[platform::RedirectUrl]) -> Output {
    let documents: Vec<RedirectUrlView<'_>> = views(urls);
    let row = |url: &platform::RedirectUrl| {
        [
            url.id.to_string(),
            url.world.environment.to_string(),
            url.kind.to_string(),
            if url.is_default { "default" } else { "" }.to_owned(),
            date(url.created_at),
            url.target.as_str().to_owned(),
        ]
    };
    let text = table(
        ["ID", "ENVIRONMENT", "KIND", "", "CREATED", "URL"],
        urls.iter().map(row),
        "No redirect URLs. Register one: vestry redirect-url add APP test URL",
    );
    Output::new(json!({ "redirect_urls": documents }), text)
}
