//! `vestry signing-key list|rotate|revoke`.

use serde_json::{Value, json};
use vestry_app::{Principal, Service};
use vestry_domain::signing_key::SigningKey;
use vestry_domain::{Environment, World};

use super::failed;
use crate::cli;
use crate::failure::Failure;
use crate::output::{date, table};

pub(super) async fn run(service: &Service, command: cli::SigningKey) -> Result<(), Failure> {
    match command {
        cli::SigningKey::List { app, answer } => {
            let mut keys = Vec::new();
            for environment in Environment::ALL {
                let listed = service
                    .list_signing_keys(Principal::cli(), World::new(app, environment))
                    .await;
                keys.extend(listed.map_err(failed)?);
            }
            let documents: Vec<_> = keys.iter().map(document).collect();
            answer
                .format()
                .print(&json!({ "signing_keys": documents }), || list(&keys))
        }
        cli::SigningKey::Rotate {
            app,
            environment,
            answer,
        } => {
            let key = service
                .rotate_signing_key(Principal::cli(), World::new(app, environment))
                .await;
            let key = key.map_err(failed)?;
            answer.format().print(&document(&key), || {
                format!(
                    "Created {}. It signs from {}.",
                    key.id,
                    date(key.active_from)
                )
            })
        }
        cli::SigningKey::Revoke { app, key, answer } => {
            let next = service
                .revoke_signing_key(Principal::cli(), app, key)
                .await
                .map_err(failed)?;
            let shown = json!({
                "id": key,
                "revoked": true,
                "signing_key": next.as_ref().map(document),
            });
            answer.format().print(&shown, || match &next {
                Some(next) => format!("Revoked {key}. The signing key is now {}.", next.id),
                None => format!("Revoked {key}. It was not in use for signing."),
            })
        }
    }
}

/// The JSON of a signing key: its public half only. The private half never leaves the service.
fn document(key: &SigningKey) -> Value {
    json!({
        "id": key.id,
        "app_id": key.world.app_id,
        "environment": key.world.environment,
        "algorithm": key.algorithm.as_str(),
        "public_jwk": key.public_jwk,
        "created_at": key.created_at,
        "active_from": key.active_from,
    })
}

fn list(keys: &[SigningKey]) -> String {
    let row = |key: &SigningKey| {
        vec![
            key.id.to_string(),
            key.world.environment.to_string(),
            key.algorithm.to_string(),
            date(key.created_at),
            date(key.active_from),
        ]
    };
    table(
        &[
            "ID (KID)",
            "ENVIRONMENT",
            "ALGORITHM",
            "CREATED",
            "SIGNS FROM",
        ],
        &keys.iter().map(row).collect::<Vec<_>>(),
        "No signing keys. Create one: vestry signing-key rotate APP test",
    )
}
