//! `vestry listen` and `vestry events resend`: forward events of a service to a local URL during development.
//!
//! Both read the event log. Their only state is the position in it. No event is therefore skipped or reordered, even if connections break
//! or the service restarts.

mod calls;
mod client;
mod cursor;
mod event;
mod follow;
mod forward;
mod outage;
mod report;
mod source;

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use serde_json::json;
use url::Url;
use vestry_domain::Secret;
use vestry_domain::event::kinds;
use vestry_domain::ids::EventId;
use vestry_domain::webhook::SigningSecret;
use vestry_ports::entropy::Entropy;

use crate::config::BaseUrl;
use crate::entropy::SystemEntropy;
use crate::failure::Failure;
use crate::output::{Format, Output, print_line, with};
use crate::private_file::read_secret;
use crate::signals::StopSignals;
use client::{Client, ReadError};
use follow::Follower;
use forward::{Attempts, Forwarder};
use outage::Outage;
use report::Report;
use source::Source;

/// The variable with the signing secret.
const SECRET: &str = "VESTRY_WEBHOOK_SECRET";

/// The arguments of `vestry listen`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads GET /v1/events with a key of the App; needs neither the database nor a
settings file. Each event is posted to the URL in order, signed like a webhook with
a secret that is printed first. An event that fails three times is reported as
failed and skipped. If the service is unreachable, the command waits and then
resumes where it stopped. Press Ctrl-C to stop. --json prints one document per line:
first the start, then each event.

Next to a running `vestry dev`, --url and --key are read from .vestry/dev.json.
Other users of this machine can see keys and secrets on the command line (`ps`).
Prefer --key-file and --secret-file, or the variables VESTRY_KEY and
VESTRY_WEBHOOK_SECRET.

Examples:
  vestry listen --forward-to http://127.0.0.1:3000/events
  vestry listen --forward-to http://127.0.0.1:3000/events --types 'user.*,wallet.exported'
  vestry listen --forward-to http://127.0.0.1:3000/events --since event_…
  VESTRY_KEY=sk_test_… vestry listen --forward-to http://127.0.0.1:3000/events \\
    --url https://id.example.com")]
pub(crate) struct Listen {
    #[command(flatten)]
    forward: Forward,
    /// Event types or group.* [default: all]
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    types: Vec<String>,
    /// Start after this event (event_…), or now
    #[arg(long, value_name = "ID", default_value = "now")]
    since: Since,
}

/// The subcommands of `vestry events`.
#[derive(Debug, Subcommand)]
pub(crate) enum Events {
    /// Send one event to a local URL
    #[command(after_help = "\
Reads the event from the service and posts it once, signed like `vestry listen`
does. The exit code is 1 unless the receiver returns 2xx. To redeliver it to a
webhook endpoint instead, use `vestry webhook replay`.

Example:
  vestry events resend event_… --forward-to http://127.0.0.1:3000/events")]
    Resend {
        /// Event ID (event_…)
        event: EventId,
        #[command(flatten)]
        forward: Forward,
    },
}

/// The service to read events from, and the URL to forward them to.
#[derive(Debug, Args)]
pub(crate) struct Forward {
    /// URL to post events to, http://… or https://…
    #[arg(long, value_name = "URL")]
    forward_to: Url,
    /// Base URL of the service [default: the `vestry dev` of this directory, or http://127.0.0.1:8080]
    #[arg(long, value_name = "BASE")]
    url: Option<BaseUrl>,
    /// Secret key of the App (sk_test_…); prefer --key-file or VESTRY_KEY, which `ps` does not show
    #[arg(long, value_name = "KEY", value_parser = secret, conflicts_with = "key_file")]
    key: Option<Secret<String>>,
    /// File with the secret key [default: VESTRY_KEY, or the key of the `vestry dev` of this directory]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Signing secret (whsec_…); prefer --secret-file or VESTRY_WEBHOOK_SECRET, which `ps` does not show
    #[arg(long, value_name = "SECRET", value_parser = secret, conflicts_with = "secret_file")]
    secret: Option<Secret<String>>,
    /// File with the signing secret [default: VESTRY_WEBHOOK_SECRET, or a new secret each time]
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Allow a live key (forwards real user data)
    #[arg(long)]
    live: bool,
}

/// Where `vestry listen` starts reading the log.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Since {
    /// After the newest event.
    Now,
    /// After this event.
    Event(EventId),
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "now" => Ok(Self::Now),
            id => id
                .parse()
                .map(Self::Event)
                .map_err(|_invalid| "must be event_… or now".to_owned()),
        }
    }
}

/// Accepts any text as a secret. Validation happens later, in code that does not repeat the value.
fn secret(text: &str) -> Result<Secret<String>, Infallible> {
    Ok(Secret::new(text.to_owned()))
}

impl Listen {
    /// Runs until it is interrupted.
    pub(crate) async fn run(self, format: Format) -> Result<(), Failure> {
        let mut stop = StopSignals::listen()?;
        let source = Source::choose(&self.forward)?;
        let mut follower = Follower {
            forwarder: forwarder(&self.forward)?,
            report: Report { format },
            types: types(&self.types)?,
            client: Client::new(&source)?,
            outage: Outage::default(),
            cursor: None,
        };
        let ended = tokio::select! {
            never = follower.run(self.since) => never.map(|never: Infallible| match never {}),
            _signal = stop.next() => Ok(()),
        };
        follower.say_how_to_resume();
        ended.map_err(|failure| reported(failure, format))
    }
}

impl Events {
    pub(crate) async fn run(self) -> Result<Output, Failure> {
        let Self::Resend { event, forward } = self;
        let source = Source::choose(&forward)?;
        let forwarder = forwarder(&forward)?;
        let client = Client::new(&source)?;
        let event = client.event(event).await.map_err(ReadError::into_failure)?;
        let outcome = forwarder.forward(&event, Attempts::One).await;
        let line = report::line_of(&event, &outcome);
        let document = report::document_of(&event, &outcome);
        let secret = forwarder.secret().text();
        let secret = secret.expose().as_str();
        let failure = (!outcome.is_accepted()).then_some("the receiver did not accept the event");
        Ok(Output::new(
            with(document, "secret", secret),
            format!("Signed with {secret}\n{line}"),
        )
        .failing(failure))
    }
}

fn forwarder(asked: &Forward) -> Result<Forwarder, Failure> {
    Forwarder::new(&asked.forward_to, signing_secret(asked)?)
}

/// The secret from the command line, a file or the environment; otherwise a new one.
fn signing_secret(asked: &Forward) -> Result<SigningSecret, Failure> {
    let (found, text) = if let Some(text) = &asked.secret {
        ("--secret".to_owned(), text.clone())
    } else if let Some(file) = &asked.secret_file {
        (file.display().to_string(), read_secret(file)?)
    } else if let Some(text) = source::variable(SECRET) {
        (SECRET.to_owned(), text)
    } else {
        let mut random = [0; 32];
        SystemEntropy::new().fill(&mut random);
        return Ok(SigningSecret::new(random));
    };
    SigningSecret::parse(text.expose())
        .map_err(|invalid| Failure::usage(format!("{found}: {}", invalid.message)))
}

/// The type filter as the API expects it; `None` for all types, which webhook endpoints write as `*`.
fn types(names: &[String]) -> Result<Option<String>, Failure> {
    if names.is_empty() || names.iter().any(|name| name == "*") {
        return Ok(None);
    }
    kinds(names.iter().map(String::as_str))
        .map_err(|invalid| Failure::usage(invalid.message.into_owned()))?;
    Ok(Some(names.join(",")))
}

/// Prints a failure as the last JSON line on stdout, after the lines before it. Usage errors are found before the first line and reported
/// as in every command.
fn reported(failure: Failure, format: Format) -> Failure {
    if format == Format::Human || failure.exit_code() == Failure::WRONG_USAGE {
        return failure;
    }
    let message = failure.to_string();
    let document = json!({ "error": { "message": message } });
    // If stdout is closed, there is nowhere left to report to.
    let _unheard = print_line(&document.to_string());
    Failure::reported(message)
}
