//! `vestry listen` and `vestry events resend`: forward events of a service to a local URL during development.
//!
//! Both read the event log. Their only state is the position in it. No event is therefore skipped or reordered, even if connections break
//! or the service restarts.

mod absence;
mod calls;
mod client;
mod event;
mod follow;
mod forward;
mod place;
mod report;
mod source;

use std::convert::Infallible;

use serde_json::json;
use vestry_domain::event::kinds;
use vestry_domain::webhook::SigningSecret;
use vestry_ports::entropy::Entropy;

use crate::cli::{self, Events};
use crate::entropy::SystemEntropy;
use crate::failure::Failure;
use crate::output::print_line;
use crate::private_file::read_secret;
use crate::signals::StopSignals;
use absence::Absence;
use client::{Client, Unread};
use follow::Follower;
use forward::{Forwarder, Tries};
use report::Report;
use source::Source;

/// The variable with the signing secret.
const SECRET: &str = "VESTRY_WEBHOOK_SECRET";

/// Runs `vestry listen` until it is interrupted.
pub(crate) async fn run(asked: &cli::Listen) -> Result<(), Failure> {
    let mut stop = StopSignals::listen()?;
    let source = Source::choose(&asked.forward)?;
    let mut follower = Follower {
        forwarder: forwarder(&asked.forward)?,
        report: Report { json: asked.json },
        types: types(&asked.types)?,
        client: Client::new(&source)?,
        absence: Absence::default(),
        place: None,
    };
    let ended = tokio::select! {
        never = follower.run(asked.since) => never.map(|never: Infallible| match never {}),
        _signal = stop.next() => Ok(()),
    };
    follower.say_where_to_go_on();
    ended.map_err(|failure| told(failure, asked.json))
}

/// Runs `vestry events …`.
pub(crate) async fn events(asked: &Events) -> Result<(), Failure> {
    let Events::Resend {
        event,
        forward,
        answer,
    } = asked;
    let source = Source::choose(forward)?;
    let forwarder = forwarder(forward)?;
    let client = Client::new(&source)?;
    let event = client.event(*event).await.map_err(Unread::into_failure)?;
    let outcome = forwarder.forward(&event, Tries::One).await;
    let line = report::line_of(&event, &outcome);
    let mut document = report::document_of(&event, &outcome);
    if let Some(document) = document.as_object_mut() {
        let secret = forwarder.secret().text();
        document.insert("secret".to_owned(), json!(secret.expose()));
    }
    answer.format().print(&document, || {
        format!("Signed with {}\n{line}", forwarder.secret().text().expose())
    })?;
    match outcome.is_taken() {
        true => Ok(()),
        false => Err(Failure::answered("the receiver did not accept the event")),
    }
}

fn forwarder(asked: &cli::Forward) -> Result<Forwarder, Failure> {
    Forwarder::new(&asked.forward_to, signing_secret(asked)?)
}

/// The secret from the command line, a file or the environment; otherwise a new one.
fn signing_secret(asked: &cli::Forward) -> Result<SigningSecret, Failure> {
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
fn told(failure: Failure, json: bool) -> Failure {
    if !json || failure.exit_code() == Failure::WRONG_USAGE {
        return failure;
    }
    let message = failure.to_string();
    let document = json!({ "error": { "message": message } });
    // If stdout is closed, there is nowhere left to report to.
    let _unheard = print_line(&document.to_string());
    Failure::answered(message)
}
