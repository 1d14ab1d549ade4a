//! `vestry provider set|list|remove`.

use serde_json::{Value, json};
use vestry_app::platform::ListedConnection;
use vestry_app::{Principal, Service};
use vestry_domain::World;
use vestry_domain::provider::{AppleKey, ConnectionSettings};

use super::failed;
use crate::cli;
use crate::failure::Failure;
use crate::output::{date, table};
use crate::private_file;

pub(super) async fn run(
    service: &Service,
    command: cli::Provider,
    has_base_url: bool,
) -> Result<(), Failure> {
    let shows_callbacks = !matches!(command, cli::Provider::Remove { .. });
    if shows_callbacks && !has_base_url {
        return Err(Failure::new(
            "http.base_url is not set; callback URLs begin with it. Set it as for `vestry serve`",
        ));
    }
    match command {
        cli::Provider::Set(set) => {
            let world = World::new(set.app, set.environment);
            let answer = set.answer;
            let secret = private_file::read_secret(&set.client_secret_file)?;
            let (name, client_id) = (set.name.clone(), set.client_id.clone());
            let set = service.set_provider(
                Principal::cli(),
                world,
                name,
                &client_id,
                &secret,
                settings(*set),
            );
            print(&[set.await.map_err(failed)?], answer)
        }
        cli::Provider::List { app, answer } => {
            let connections = service
                .list_providers(Principal::cli(), app)
                .await
                .map_err(failed)?;
            print(&connections, answer)
        }
        cli::Provider::Remove {
            app,
            environment,
            name,
            answer,
        } => {
            let world = World::new(app, environment);
            let removed = service
                .remove_provider(Principal::cli(), world, &name)
                .await;
            removed.map_err(failed)?;
            let document = json!({ "provider": name.as_str(), "removed": true });
            answer
                .format()
                .print(&document, || format!("Removed {name}."))
        }
    }
}

fn settings(set: cli::SetProvider) -> ConnectionSettings {
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

fn print(connections: &[ListedConnection], answer: cli::Answer) -> Result<(), Failure> {
    let documents: Vec<_> = connections.iter().map(document).collect();
    answer
        .format()
        .print(&json!({ "providers": documents }), || list(connections))
}

/// The JSON of a connection, without its secret.
fn document(listed: &ListedConnection) -> Value {
    let connection = &listed.connection;
    json!({
        "provider": connection.name.as_str(),
        "app_id": connection.world.app_id,
        "environment": connection.world.environment,
        "client_id": connection.client_id,
        "settings": connection.settings,
        "callback_url": listed.callback_url,
        "created_at": connection.created_at,
        "updated_at": connection.updated_at,
    })
}

fn list(connections: &[ListedConnection]) -> String {
    let row = |listed: &ListedConnection| {
        let connection = &listed.connection;
        vec![
            connection.name.to_string(),
            connection.world.environment.to_string(),
            connection.client_id.clone(),
            date(connection.updated_at),
            listed.callback_url.clone(),
        ]
    };
    table(
        &[
            "PROVIDER",
            "ENVIRONMENT",
            "CLIENT ID",
            "SET",
            "CALLBACK URL (enter it in the provider's console)",
        ],
        &connections.iter().map(row).collect::<Vec<_>>(),
        "No provider connections. Test environments always have the built-in provider `test`; see docs/oauth.md.",
    )
}
