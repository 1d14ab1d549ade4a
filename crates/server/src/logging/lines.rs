//! Log lines as flat JSON objects (PR-1).

use std::fmt::{self, Debug};
use std::io::Write;

use serde::Serialize;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// The field with the id of the request that a line belongs to.
const REQUEST_ID: &str = "request_id";

/// Writes each event as a line: `timestamp`, `level`, `target`, `request_id` if it happened in a request, and the fields of the event, of
/// which `message` is one.
pub(super) struct JsonLines<W> {
    output: W,
}

impl<W> JsonLines<W> {
    pub(super) const fn new(output: W) -> Self {
        Self { output }
    }
}

/// The id of the request that a span belongs to.
struct RequestId(String);

impl<S, W> Layer<S> for JsonLines<W>
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    W: for<'writer> MakeWriter<'writer> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().fields().field(REQUEST_ID).is_none() {
            return;
        }
        let mut found = FindRequestId(None);
        attributes.record(&mut found);
        if let (Some(span), Some(request_id)) = (context.span(id), found.0) {
            span.extensions_mut().insert(RequestId(request_id));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let mut line = Line::new();
        line.add("timestamp", &now());
        line.add("level", metadata.level().as_str());
        line.add("target", metadata.target());
        if metadata.fields().field(REQUEST_ID).is_none() {
            for span in context.event_scope(event).into_iter().flatten() {
                if let Some(RequestId(id)) = span.extensions().get() {
                    line.add(REQUEST_ID, id);
                    break;
                }
            }
        }
        event.record(&mut line);
        // If stderr is closed, there is nowhere left to report to.
        let _unheard = self
            .output
            .make_writer_for(metadata)
            .write_all(&line.finished());
    }
}

/// The time in RFC 3339, in microseconds.
fn now() -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _written = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}

/// A line in the making.
struct Line(Vec<u8>);

impl Line {
    fn new() -> Self {
        Self(Vec::with_capacity(384))
    }

    fn add(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        // Neither writing to memory nor texts and numbers can fail.
        let _named = serde_json::to_writer(&mut self.0, name);
        self.0.push(b':');
        let _written = serde_json::to_writer(&mut self.0, value);
    }

    fn finished(mut self) -> Vec<u8> {
        self.0.extend_from_slice(b"}\n");
        self.0
    }
}

impl Visit for Line {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field.name(), &value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field.name(), &value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field.name(), &value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field.name(), &value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field.name(), &Shown(value));
    }
}

/// A value in its debug form. A field given by `%` has its display form there.
struct Shown<'a>(&'a dyn Debug);

impl Serialize for Shown<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

struct FindRequestId(Option<String>);

impl Visit for FindRequestId {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == REQUEST_ID {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn Debug) {}
}
