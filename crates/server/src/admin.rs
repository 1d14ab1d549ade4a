//! Admin commands: each calls one use case and prints one result.

mod apps;
mod audit;
mod keys;
mod progress;
mod providers;
mod redirect_urls;
mod sessions;
mod signing_keys;
mod users;
mod vault;
mod webhooks;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::runtime::Handle;
use vestry_app::Refusal;
use vestry_domain::app::App;
use vestry_limiter::MemoryLimiter;

use crate::cli::{self, Command};
use crate::compose;
use crate::config::{BaseUrl, Settings};
use crate::failure::Failure;

pub(crate) use vault::make_root_key;

/// Opens the store and the service, then runs the command. Callback URLs begin with `base_url`.
pub(crate) async fn run(
    settings: &Settings,
    base_url: Option<&BaseUrl>,
    command: Command,
    runtime: Handle,
) -> Result<(), Failure> {
    let store = compose::store(&settings.database).await?;
    if let Command::Vault(cli::Vault::Init { answer }) = command {
        return vault::init(&settings.vault, &*store, answer).await;
    }
    // An admin command answers no requests, so it has nothing to rate-limit and issues no tokens.
    let limiter = Arc::new(MemoryLimiter::new());
    let sinks = compose::sinks_of_commands(settings)?;
    let service = compose::service(settings, store, limiter, sinks, base_url, runtime)?;
    match command {
        Command::App(command) => apps::run(&service, command).await,
        Command::Key(command) => keys::run(&service, command).await,
        Command::Users(command) => users::run(&service, command).await,
        Command::Sessions(command) => sessions::run(&service, command).await,
        Command::RedirectUrl(command) => redirect_urls::run(&service, command).await,
        Command::Provider(command) => providers::run(&service, command, base_url.is_some()).await,
        Command::Webhook(command) => webhooks::run(&service, command).await,
        Command::SigningKey(command) => signing_keys::run(&service, command).await,
        Command::Audit(command) => {
            let reach = compose::reach_of_anchors(settings);
            audit::run(&service, command, base_url.is_some(), &reach).await
        }
        Command::Vault(command) => vault::run(&service, command).await,
        Command::Dev(_)
        | Command::Serve
        | Command::Worker
        | Command::Migrate(_)
        | Command::Check(_)
        | Command::Listen(_)
        | Command::Events(_)
        | Command::Openapi => Err(Failure::new("this command does not use the database")),
    }
}

/// Converts an error of a use case: the rejected value, or the underlying cause.
fn failed(error: Refusal) -> Failure {
    match error {
        Refusal::Invalid(invalid) => Failure::usage(invalid.message.into_owned()),
        Refusal::Fault(fault) => Failure::new("command failed; nothing was changed").because(fault),
        // A refusal names what does not exist in the API's words, and a command in its own.
        Refusal::NotFound(what) => Failure::new(format!("no such {what}")),
        error => Failure::new(error.to_string()),
    }
}

/// The JSON of an App, the same for every command.
fn app_document(app: &App) -> Value {
    json!({
        "id": app.id,
        "name": app.name,
        "settings": app.settings,
        "created_at": app.created_at,
        "updated_at": app.updated_at,
    })
}
