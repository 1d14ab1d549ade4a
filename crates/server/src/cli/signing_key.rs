//! `vestry signing-key`

use clap::Subcommand;
use serde_json::json;
use vestry_app::Principal;
use vestry_domain::ids::SigningKeyId;
use vestry_domain::{Environment, World, signing_key};
use vestry_edge::views::{SigningKeyView, views};

use super::args::{InApp, InWorld};
use super::installation::Installation;
use crate::failure::Failure;
use crate::output::{Output, date, table};

/// The subcommands of `vestry signing-key`.
#[derive(Debug, Subcommand)]
pub(crate) enum SigningKey {
    /// List an App's signing keys, oldest first
    List(InApp),
    /// Create the next signing key
    #[command(after_help = "\
It is published within two minutes and signs after five. The current key stays
published until its last token has expired, so sessions are unaffected.

Example:
  vestry signing-key rotate app_… live")]
    Rotate(InWorld),
    /// Revoke a compromised signing key and reject its JWTs
    #[command(after_help = "\
Revocation is permanent. Sessions are kept: they get JWTs from the new key, which is
created at once if the revoked key was signing. Backends that verify JWTs offline
accept the old ones until they refetch the key set, a minute later at most if they
respect Cache-Control. Restart any that cache the key set for longer.

Example:
  vestry signing-key list app_…
  vestry signing-key revoke app_… jwk_…")]
    Revoke {
        #[command(flatten)]
        of: InApp,
        /// Signing key ID (jwk_…)
        key: SigningKeyId,
    },
}

impl SigningKey {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let service = installation.service().await?;
        match self {
            Self::List(of) => {
                let mut keys = Vec::new();
                for environment in Environment::ALL {
                    let world = World::new(of.app, environment);
                    keys.extend(service.list_signing_keys(Principal::cli(), world).await?);
                }
                let documents: Vec<SigningKeyView<'_>> = views(&keys);
                Ok(Output::new(
                    json!({ "signing_keys": documents }),
                    list(&keys),
                ))
            }
            Self::Rotate(of) => {
                let key = service
                    .rotate_signing_key(Principal::cli(), of.world())
                    .await?;
                let (id, from) = (key.id, date(key.active_from));
                Ok(Output::new(
                    json!(SigningKeyView::from(&key)),
                    format!("Created {id}. It signs from {from}."),
                ))
            }
            Self::Revoke { of, key } => {
                let next = service
                    .revoke_signing_key(Principal::cli(), of.app.into(), key)
                    .await?;
                let text = match &next {
                    Some(next) => format!("Revoked {key}. The signing key is now {}.", next.id),
                    None => format!("Revoked {key}. It was not in use for signing."),
                };
                let next = next.as_ref().map(SigningKeyView::from);
                Ok(Output::new(
                    json!({ "id": key, "revoked": true, "signing_key": next }),
                    text,
                ))
            }
        }
    }
}

fn list(keys: &[signing_key::SigningKey]) -> String {
    let row = |key: &signing_key::SigningKey| {
        [
            key.id.to_string(),
            key.world.environment.to_string(),
            key.algorithm.to_string(),
            date(key.created_at),
            date(key.active_from),
        ]
    };
    table(
        [
            "ID (KID)",
            "ENVIRONMENT",
            "ALGORITHM",
            "CREATED",
            "SIGNS FROM",
        ],
        keys.iter().map(row),
        "No signing keys. Create one: vestry signing-key rotate APP test",
    )
}
