//! The output of `vestry listen`.

use std::io::{self, Write};

use serde_json::{Value, json};
use vestry_domain::rfc3339;

use super::client::Head;
use super::cursor::Cursor;
use super::event::Event;
use super::forward::{Forwarder, Outcome};
use crate::config::BaseUrl;
use crate::failure::Failure;
use crate::output::{Format, print_line};

/// The output, for people or as JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report {
    pub(super) format: Format,
}

/// Prints a message to stderr. A closed stderr is no reason to stop.
pub(super) fn say(message: &str) {
    let _unheard = writeln!(io::stderr().lock(), "vestry: {message}");
}

impl Report {
    pub(super) fn beginning(
        self,
        base: &BaseUrl,
        cursor: Option<&Cursor>,
        forwarder: &Forwarder,
    ) -> Result<(), Failure> {
        let (to, secret) = (forwarder.to(), forwarder.secret().text());
        let secret = secret.expose();
        if self.format == Format::Json {
            let begun = json!({
                "url": base.to_string(),
                "forward_to": to.as_str(),
                "after": cursor.map(|cursor| &cursor.id),
                "secret": secret,
            });
            return print_line(&json!({ "listening": begun }).to_string());
        }
        let from = cursor.map_or_else(
            || "from the start of the log".to_owned(),
            |cursor| format!("after {}", cursor.id),
        );
        print_line(&format!(
            "Forwarding events of {base} {from} to {to}\nSigned with {secret}"
        ))
    }

    pub(super) fn event(self, event: &Event, outcome: &Outcome) -> Result<(), Failure> {
        if self.format == Format::Json {
            print_line(&document_of(event, outcome).to_string())
        } else {
            print_line(&line_of(event, outcome))
        }
    }

    /// Reports that the log does not contain our position.
    pub(super) fn gap(self, lost: Option<&Cursor>, head: &Head) -> Result<(), Failure> {
        let newest = head.newest.as_ref();
        if self.format == Format::Json {
            let lost = lost.map(|cursor| json!({ "id": cursor.id, "position": cursor.position }));
            let newest = newest.map(|mark| json!({ "id": mark.id, "position": mark.position }));
            let missed = json!({ "behind": lost, "up_to": newest, "log": head.log });
            print_line(&json!({ "missed": missed }).to_string())?;
        }
        say(&gap(lost, head));
        Ok(())
    }
}

fn gap(lost: Option<&Cursor>, head: &Head) -> String {
    let lost = lost.map_or_else(|| "the start of the log".to_owned(), ToString::to_string);
    let end = Cursor::newest(head).map_or_else(
        || "the end of the empty log".to_owned(),
        |newest| newest.to_string(),
    );
    format!(
        "unknown position {lost}: the event has expired, or the database was restored from a backup. Events up to {end} may be missing and are not forwarded. Continuing from there"
    )
}

/// One line for people.
pub(super) fn line_of(event: &Event, outcome: &Outcome) -> String {
    let at = rfc3339::format(outcome.at);
    let (kind, id) = (&event.head.kind, &event.head.id);
    let status = match &outcome.answer {
        Ok(status) => status.to_string(),
        Err(_no_answer) => "-".to_owned(),
    };
    let took = outcome.took.as_millis();
    let failed = failed(outcome);
    // The longest type name has 25 letters.
    format!("{at}  {kind:<25}  {id}  {status:>3}  {took} ms{failed}")
}

fn failed(outcome: &Outcome) -> String {
    if outcome.is_accepted() {
        return String::new();
    }
    let times = match outcome.attempts {
        1 => String::new(),
        attempts => format!(" {attempts} times"),
    };
    let why = match &outcome.answer {
        Ok(_status) => String::new(),
        Err(why) => format!(": {why}"),
    };
    format!("  failed{times}{why}")
}

/// The JSON of a forwarded event.
pub(super) fn document_of(event: &Event, outcome: &Outcome) -> Value {
    json!({
        "at": rfc3339::format(outcome.at),
        "type": event.head.kind,
        "id": event.head.id,
        "log": event.head.log,
        "position": event.head.position,
        "delivered": outcome.is_accepted(),
        "tries": outcome.attempts,
        "status": outcome.answer.as_ref().ok(),
        "error": outcome.answer.as_ref().err(),
        "duration_ms": u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX),
    })
}
