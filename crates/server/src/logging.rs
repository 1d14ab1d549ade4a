//! Logs to stderr: JSON lines in production, readable text in development.

use std::io::IsTerminal;
use std::panic::PanicHookInfo;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, fmt, registry};

use crate::config::{LogFormat, LogSettings};

/// The prefix of our own crates.
const OURS: &str = "vestry";

/// Starts logging. Later calls do nothing.
///
/// The configured level applies to our own crates. Others log at most warnings. At finer levels, drivers log statement parameters and
/// request heads, which must not be in a log (OTP-9).
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

/// Logs a panic with its location only. Its message may contain a value that was being processed.
pub(crate) fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic: &PanicHookInfo<'_>| {
        let place = panic.location().map_or_else(
            || "unknown location".to_owned(),
            |location| format!("{}:{}", location.file(), location.line()),
        );
        if tracing::dispatcher::has_been_set() {
            tracing::error!(place, "panic");
        } else {
            eprintln!("vestry: panic at {place}");
        }
    }));
}
