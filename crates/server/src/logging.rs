//! Logs: JSON lines in production, readable ones in development, always on stderr.

use std::io::IsTerminal;
use std::panic::PanicHookInfo;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, fmt, registry};

use crate::config::{LogFormat, LogSettings};

/// Crates whose events are ours.
const OURS: &str = "vestry";

/// Starts the log. Later calls do nothing.
///
/// The level is for our own crates. Crates of others never say more than warnings: at their finer levels drivers print
/// the parameters of statements and the heads of requests, which hold what must not be in a log (OTP-9).
pub(crate) fn start(settings: &LogSettings) {
    let shown = Targets::new()
        .with_default(LevelFilter::WARN.min(settings.level))
        .with_target(OURS, settings.level);
    let output = fmt::layer().with_writer(std::io::stderr);
    let output = match settings.format {
        LogFormat::Json => output
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .boxed(),
        LogFormat::Pretty => output
            .compact()
            .with_ansi(std::io::stderr().is_terminal())
            .boxed(),
    };
    let _started_before =
        tracing::subscriber::set_global_default(registry().with(output.with_filter(shown)));
}

/// A panic is logged with its place and nothing else: its message may hold a value that was being worked on.
pub(crate) fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic: &PanicHookInfo<'_>| {
        let place = panic.location().map_or_else(
            || "an unknown place".to_owned(),
            |location| format!("{}:{}", location.file(), location.line()),
        );
        if tracing::dispatcher::has_been_set() {
            tracing::error!(place, "panic");
        } else {
            eprintln!("vestry: panic at {place}");
        }
    }));
}
