//! The command line: the arguments of each command beside the code that runs it.

mod app;
mod args;
mod audit;
mod backup;
mod backup_file;
mod completions;
mod config;
mod drill;
mod installation;
mod key;
mod manage_key;
mod operator;
mod outbox;
mod progress;
mod provider;
mod recover;
mod redirect_url;
mod restore;
mod sessions;
mod signing_key;
mod users;
mod vault;
mod webhook;

use std::path::PathBuf;
use std::time::Instant;

use clap::{CommandFactory as _, Parser, Subcommand};

use self::installation::administer;
use crate::check::Check;
use crate::config::Settings;
use crate::failure::Failure;
use crate::output::{Format, print_line};
use crate::{dev, http, listen, logging, migrate, serve, with_runtime, worker};

/// Sign-in, user management and managed wallets in one self-hosted service
#[derive(Debug, Parser)]
#[command(
    name = "vestry",
    version,
    arg_required_else_help = true,
    after_help = "\
New here? Run `vestry dev`. It needs no setup, prints an API key and a working
request, and captures all outgoing mail.

A first deployment:
  vestry migrate                          create the database schema
  vestry vault init                       create the root keys
  vestry check                            check the installation
  vestry app create Shop                  create an App
  vestry key create app_… live            create a secret key for its backend (shown once)
  vestry serve                            start the service

Settings come from vestry.toml and from VESTRY_ variables (for example
VESTRY_DATABASE__URL for database.url). deploy/vestry.example.toml describes
every setting. Exit codes: 0 success, 1 failure, 2 usage error."
)]
pub(crate) struct Cli {
    /// Settings file [default: vestry.toml, if present]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Print one JSON document to stdout
    #[arg(long, global = true, display_order = 100)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

/// The commands of `vestry`.
#[derive(Debug, Subcommand)]
enum Command {
    /// Run a complete development service with no setup
    Dev(dev::Dev),
    /// Start the service
    Serve,
    /// Deliver messages and webhooks without an HTTP listener
    ///
    /// Any number of workers can run in addition to `vestry serve`.
    Worker,
    /// Migrate the database schema to this version
    Migrate(migrate::Migrate),
    /// Check configuration, database, machine, vault, mail and SMS, or a running service
    Check(Check),
    /// Manage Apps, the containers of users, keys and wallets
    #[command(subcommand)]
    App(app::App),
    /// Export and apply an App's configuration as one document
    #[command(subcommand)]
    Config(config::Config),
    /// Manage an App's secret API keys and public tokens
    #[command(subcommand)]
    Key(key::Key),
    /// Manage the keys of the management API
    #[command(subcommand)]
    ManageKey(manage_key::ManageKey),
    /// Manage the operators of the console
    #[command(subcommand)]
    Operator(operator::Operator),
    /// Import, export and unlock users
    #[command(subcommand)]
    Users(users::Users),
    /// End user sessions
    #[command(subcommand)]
    Sessions(sessions::Sessions),
    /// Manage the URLs that sign-ins may redirect to
    #[command(subcommand)]
    RedirectUrl(redirect_url::RedirectUrl),
    /// Manage an App's identity providers
    #[command(subcommand)]
    Provider(provider::Provider),
    /// Manage messages that could not be delivered
    #[command(subcommand)]
    Outbox(outbox::Outbox),
    /// Manage webhook endpoints, deliveries and replays
    #[command(subcommand)]
    Webhook(webhook::Webhook),
    /// Forward events to a local URL during development
    Listen(listen::Listen),
    /// Resend single events to a local URL
    #[command(subcommand)]
    Events(listen::Events),
    /// Manage the keys that sign session JWTs
    #[command(subcommand)]
    SigningKey(signing_key::SigningKey),
    /// Verify, prune and checkpoint the audit log
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Manage root keys and App encryption keys
    #[command(subcommand)]
    Vault(vault::Vault),
    /// Back up the database to one file while the service runs
    Backup(backup::Backup),
    /// Restore a backup into an empty database
    Restore(restore::Restore),
    /// Rehearse a restore in a scratch database
    Drill(drill::Drill),
    /// End what must not live on after the database was set back
    Recover(recover::Recover),
    /// Print the API description (OpenAPI 3.1)
    Openapi,
    /// Print a completion script for a shell
    #[command(after_help = "\
  vestry completions bash > /etc/bash_completion.d/vestry
  vestry completions zsh > /usr/local/share/zsh/site-functions/_vestry
  vestry completions fish > /etc/fish/completions/vestry.fish")]
    Completions(completions::Completions),
}

impl Cli {
    /// The requested output format.
    pub(crate) const fn format(&self) -> Format {
        if self.json {
            Format::Json
        } else {
            Format::Human
        }
    }

    /// Runs the command and prints its result. `refused` lists failed steps of process hardening.
    pub(crate) fn run(self, started: Instant, refused: &[&str]) -> Result<(), Failure> {
        let (file, format) = (self.config.as_deref(), self.format());
        let output = match self.command {
            Command::Openapi => return print_line(http::API.openapi().trim_end()),
            Command::Completions(command) => {
                return print_line(command.script(Self::command())?.trim_end());
            }
            Command::Dev(command) => return dev::run(&command, file, started),
            Command::Serve => {
                let (settings, texts) = Settings::load(file)?;
                logging::start(&settings.log);
                for reason in refused {
                    tracing::warn!(reason, "process hardening is incomplete");
                }
                return serve::run(&settings, texts, file);
            }
            Command::Worker => {
                let (settings, texts) = Settings::load(file)?;
                logging::start(&settings.log);
                return worker::run(&settings, texts, file);
            }
            Command::Listen(command) => {
                return with_runtime(async |_runtime| command.run(format).await);
            }
            Command::Events(command) => with_runtime(async |_runtime| command.run().await),
            Command::Check(command) => with_runtime(async |_runtime| command.run(file).await),
            Command::Migrate(command) => {
                administer(file, async |on| command.run(&on.settings.database).await)
            }
            Command::App(command) => administer(file, async |on| command.run(on).await),
            Command::Config(command) => administer(file, async |on| command.run(on).await),
            Command::Key(command) => administer(file, async |on| command.run(on).await),
            Command::ManageKey(command) => administer(file, async |on| command.run(on).await),
            Command::Operator(command) => administer(file, async |on| command.run(on).await),
            Command::Users(command) => administer(file, async |on| command.run(on).await),
            Command::Sessions(command) => administer(file, async |on| command.run(on).await),
            Command::RedirectUrl(command) => administer(file, async |on| command.run(on).await),
            Command::Provider(command) => administer(file, async |on| command.run(on).await),
            Command::Outbox(command) => administer(file, async |on| command.run(on).await),
            Command::Webhook(command) => administer(file, async |on| command.run(on).await),
            Command::SigningKey(command) => administer(file, async |on| command.run(on).await),
            Command::Audit(command) => administer(file, async |on| command.run(on).await),
            Command::Backup(command) => administer(file, async |on| command.run(on, format).await),
            Command::Restore(command) => administer(file, async |on| command.run(on).await),
            Command::Drill(command) => administer(file, async |on| command.run(on).await),
            Command::Recover(command) => administer(file, async |on| command.run(on).await),
            Command::Vault(command) => administer(file, async |on| command.run(on).await),
        };
        output?.print(format)
    }
}

/// The reason why a command line was rejected, on one line and without the usage text.
pub(crate) fn wrong_usage(refused: &clap::Error) -> String {
    let text = refused.render().to_string();
    let lines = text.lines().map(str::trim);
    let reason = lines.take_while(|line| !line.starts_with("Usage:"));
    let reason: Vec<_> = reason.filter(|line| !line.is_empty()).collect();
    let reason = reason.join(" ");
    reason.strip_prefix("error: ").unwrap_or(&reason).to_owned()
}

#[cfg(test)]
mod tests;
