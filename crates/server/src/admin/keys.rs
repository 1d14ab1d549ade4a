//! `vestry key create|list|rotate|revoke`.

use serde_json::{Value, json};
use vestry_app::platform::NewApiKey;
use vestry_app::{Principal, Service};
use vestry_domain::World;
use vestry_domain::api_key::{ApiKey, ApiKeyKind};

use super::failed;
use crate::cli;
use crate::failure::Failure;
use crate::output::{Format, date, table};

pub(super) async fn run(service: &Service, command: cli::Key) -> Result<(), Failure> {
    match command {
        cli::Key::Create {
            app,
            environment,
            public,
            scope,
            answer,
        } => {
            let kind = if public {
                ApiKeyKind::Public
            } else {
                ApiKeyKind::Secret
            };
            let made = service
                .create_api_key(Principal::cli(), World::new(app, environment), kind, scope)
                .await;
            print_new(&made.map_err(failed)?, answer.format())
        }
        cli::Key::List { app, answer } => {
            let keys = service
                .list_api_keys(Principal::cli(), app)
                .await
                .map_err(failed)?;
            let documents: Vec<_> = keys.iter().map(document).collect();
            answer
                .format()
                .print(&json!({ "keys": documents }), || list(&keys))
        }
        cli::Key::Rotate { app, key, answer } => {
            let made = service
                .rotate_api_key(Principal::cli(), app, key)
                .await
                .map_err(failed)?;
            print_new(&made, answer.format())
        }
        cli::Key::Revoke { app, key, answer } => {
            service
                .revoke_api_key(Principal::cli(), app, key)
                .await
                .map_err(failed)?;
            answer
                .format()
                .print(&json!({ "id": key, "revoked": true }), || {
                    format!("Revoked {key}.")
                })
        }
    }
}

/// Prints a new key. No other output contains one.
fn print_new(made: &NewApiKey, format: Format) -> Result<(), Failure> {
    let mut shown = document(&made.record);
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("key".to_owned(), made.key.expose().as_str().into());
    }
    format.print(&shown, || {
        let ApiKey {
            id, world, kind, ..
        } = &made.record;
        format!(
            "{}\n\nThis is the {} {kind} key {id} of {}. It is shown only once.",
            made.key.expose(),
            world.environment,
            world.app_id,
        )
    })
}

fn document(key: &ApiKey) -> Value {
    let scopes: Vec<_> = key.scopes.iter().map(|scope| scope.as_str()).collect();
    json!({
        "id": key.id,
        "app_id": key.world.app_id,
        "environment": key.world.environment,
        "kind": key.kind.as_str(),
        "last_four": key.last_four,
        "scopes": scopes,
        "created_at": key.created_at,
        "revoked_at": key.revoked_at,
    })
}

fn list(keys: &[ApiKey]) -> String {
    let rows: Vec<_> = keys.iter().map(row).collect();
    table(
        &["ID", "KEY", "CREATED", "STATE", "SCOPES"],
        &rows,
        "No keys. Create one: vestry key create APP test",
    )
}

fn row(key: &ApiKey) -> Vec<String> {
    let scopes: Vec<_> = key.scopes.iter().map(|scope| scope.as_str()).collect();
    let scopes = match (key.kind, scopes.is_empty()) {
        (ApiKeyKind::Public, _) => "sign-in redirects".to_owned(),
        (ApiKeyKind::Secret, true) => "all except wallets:export, audit:read".to_owned(),
        (ApiKeyKind::Secret, false) => scopes.join(" "),
    };
    vec![
        key.id.to_string(),
        format!(
            "{}…{}",
            key.kind.prefix(key.world.environment),
            key.last_four
        ),
        date(key.created_at),
        key.revoked_at
            .map_or_else(|| "active".to_owned(), |at| format!("revoked {}", date(at))),
        scopes,
    ]
}
