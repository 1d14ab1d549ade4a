//! What is said of it.

use std::io::{self, Write};

use serde_json::{Value, json};
use vestry_domain::rfc3339;

use super::client::Head;
use super::event::Event;
use super::forward::{Forwarder, Outcome};
use super::place::Place;
use crate::config::BaseUrl;
use crate::failure::Failure;
use crate::output::print_line;

/// To people or to a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report {
    pub(super) json: bool,
}

/// On stderr. Nobody is left to be told when it is gone, and that is no reason to end.
pub(super) fn say(message: &str) {
    let _unheard = writeln!(io::stderr().lock(), "vestry: {message}");
}

impl Report {
    pub(super) fn beginning(
        self,
        base: &BaseUrl,
        place: Option<&Place>,
        forwarder: &Forwarder,
    ) -> Result<(), Failure> {
        let (to, secret) = (forwarder.to(), forwarder.secret().text());
        let secret = secret.expose();
        if self.json {
            let begun = json!({
                "url": base.to_string(),
                "forward_to": to.as_str(),
                "after": place.map(|place| &place.id),
                "secret": secret,
            });
            return print_line(&json!({ "listening": begun }).to_string());
        }
        let from = place.map_or_else(
            || "from the beginning on".to_owned(),
            |place| format!("behind {}", place.id),
        );
        print_line(&format!(
            "Events of {base} {from} go to {to}\nSigned with {secret}"
        ))
    }

    pub(super) fn event(self, event: &Event, outcome: &Outcome) -> Result<(), Failure> {
        if self.json {
            print_line(&document_of(event, outcome).to_string())
        } else {
            print_line(&line_of(event, outcome))
        }
    }

    /// The log does not know our place in it.
    pub(super) fn gap(self, lost: Option<&Place>, head: &Head) -> Result<(), Failure> {
        let newest = head.newest.as_ref();
        if self.json {
            let lost = lost.map(|place| json!({ "id": place.id, "position": place.position }));
            let newest = newest.map(|mark| json!({ "id": mark.id, "position": mark.position }));
            let missed = json!({ "behind": lost, "up_to": newest, "log": head.log });
            print_line(&json!({ "missed": missed }).to_string())?;
        }
        say(&gap(lost, head));
        Ok(())
    }
}

fn gap(lost: Option<&Place>, head: &Head) -> String {
    let lost = lost.map_or_else(|| "its beginning".to_owned(), ToString::to_string);
    let end = head.newest.as_ref().map_or_else(
        || "its end, for it is empty".to_owned(),
        |mark| format!("{} (log {}, position {})", mark.id, head.log, mark.position),
    );
    format!(
        "the log does not know {lost} any more: the database was set back, or the event is older than events are kept. What came behind it, up to {end}, may be missed and is not forwarded; going on from there"
    )
}

/// One line for a person.
pub(super) fn line_of(event: &Event, outcome: &Outcome) -> String {
    let at = rfc3339::format(outcome.at);
    let (kind, id) = (&event.head.kind, &event.head.id);
    let status = match &outcome.answer {
        Ok(status) => status.to_string(),
        Err(_no_answer) => "-".to_owned(),
    };
    let took = outcome.took.as_millis();
    let failed = failed(outcome);
    // The longest name of a type has 25 letters.
    format!("{at}  {kind:<25}  {id}  {status:>3}  {took} ms{failed}")
}

fn failed(outcome: &Outcome) -> String {
    if outcome.is_taken() {
        return String::new();
    }
    let times = match outcome.tries {
        1 => String::new(),
        tries => format!(" {tries} times"),
    };
    let why = match &outcome.answer {
        Ok(_status) => String::new(),
        Err(why) => format!(": {why}"),
    };
    format!("  failed{times}{why}")
}

/// The same for a program.
pub(super) fn document_of(event: &Event, outcome: &Outcome) -> Value {
    json!({
        "at": rfc3339::format(outcome.at),
        "type": event.head.kind,
        "id": event.head.id,
        "log": event.head.log,
        "position": event.head.position,
        "delivered": outcome.is_taken(),
        "tries": outcome.tries,
        "status": outcome.answer.as_ref().ok(),
        "error": outcome.answer.as_ref().err(),
        "duration_ms": u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX),
    })
}
