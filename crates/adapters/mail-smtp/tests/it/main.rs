//! The mailer against a real SMTP server.

#![expect(clippy::expect_used, reason = "a panic fails the test")]

mod delivery;
mod faults;
#[path = "../smtp_server/mod.rs"]
mod smtp_server;

use std::error::Error;

use vestry_domain::ids::{Id, JobId};
use vestry_domain::message::{Message, otp_mail};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Secret, Timestamp};
use vestry_mail_smtp::{Settings, SmtpMailer};
use vestry_ports::mailer::SendError;

use crate::smtp_server::SmtpServer;

/// The recipient of the mails.
const RECIPIENT: &str = "Ada.Lovelace@analytical.example";
/// The code in the mails.
const CODE: &str = "482913";

/// Settings that fit the server.
fn settings(server: &SmtpServer) -> Settings {
    settings_for(server.url(), server)
}

fn settings_for(url: String, server: &SmtpServer) -> Settings {
    let mut settings = Settings::new(url, "Vestry Tests <no-reply@mail.example>");
    settings.ca_file = Some(server.ca_file());
    settings
}

/// A mailer for these settings.
#[track_caller]
fn mailer(settings: &Settings) -> SmtpMailer {
    SmtpMailer::new(settings).expect("the settings can be used")
}

/// The id of a job of 2026-02-03T04:05:06Z.
fn job(number: u8) -> JobId {
    JobId::new(Timestamp::from_unix(1_770_091_506), [number; 16])
}

fn passcode() -> Message {
    otp_mail("Café <Zürich>", RECIPIENT, CODE, Seconds(60))
}

/// Returns the Display and Debug text of an error and its causes.
fn everything_said(error: &SendError) -> String {
    let mut said = format!("{error:?}");
    let mut next: Option<&dyn Error> = Some(error);
    while let Some(error) = next {
        said.push_str(&format!("\n{error}"));
        next = error.source();
    }
    said
}

/// Returns the text of an error that must be transient.
#[track_caller]
fn transient(result: Result<(), SendError>) -> String {
    match result {
        Err(error @ SendError::Transient(_)) => discreet(&error),
        other => panic!("expected a transient error, got {other:?}"),
    }
}

/// Returns the text of an error that must postpone a recipient.
#[track_caller]
fn postponed(result: Result<(), SendError>) -> String {
    match result {
        Err(error @ SendError::Postponed(_)) => discreet(&error),
        other => panic!("expected a postponed recipient, got {other:?}"),
    }
}

/// Returns the text of an error that must be permanent.
#[track_caller]
fn permanent(result: Result<(), SendError>) -> String {
    match result {
        Err(error @ SendError::Permanent(_)) => discreet(&error),
        other => panic!("expected a permanent error, got {other:?}"),
    }
}

/// Errors are logged, so they contain neither address nor code nor password (S1).
#[track_caller]
fn discreet(error: &SendError) -> String {
    let said = everything_said(error);
    let lower = said.to_lowercase();
    for secret in [RECIPIENT, CODE, smtp_server::USER, smtp_server::PASSWORD] {
        assert!(!lower.contains(&secret.to_lowercase()), "{said}");
    }
    said
}

/// Returns the settings with another password.
fn with_password(server: &SmtpServer, password: &str) -> Settings {
    let mut url = url::Url::parse(&server.url()).expect("a URL");
    url.set_password(Some(password))
        .expect("a URL with a password");
    let mut settings = settings(server);
    settings.url = Secret::new(url.into());
    settings
}
