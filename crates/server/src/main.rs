//! The binary `vestry`: composition root and admin commands.
//!
//! The only crate that depends on all others. It reads the settings, opens the adapters and builds a service from them. It then serves
//! requests with it, or runs one admin command.

mod background;
mod check;
mod cli;
mod clock;
mod compose;
mod config;
mod dev;
mod entropy;
mod failure;
mod hardening;
mod http;
mod listen;
mod logging;
mod migrate;
mod output;
mod private_file;
mod reload;
mod serve;
mod signals;
mod telemetry;
mod tls;
mod transports;
mod worker;

use clap::Parser as _;
use std::ffi::OsString;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::{Builder, Handle, Runtime};
use zeroizing_alloc::ZeroAlloc;

use cli::Cli;
use failure::{Context, Failure};
use output::{Format, Output};

/// Zeroes memory when it is freed (M-11). Copies of a password or token in buffers of the HTTP server, TLS and the JSON parser therefore do
/// not outlive their use. Memory that C libraries allocate themselves is not zeroed. SQLite and TLS see only plaintext that is in the
/// database or sent anyway.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: ZeroAlloc<tikv_jemallocator::Jemalloc> = ZeroAlloc(tikv_jemallocator::Jemalloc);

/// The same for the system allocator.
#[cfg(not(feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: ZeroAlloc<std::alloc::System> = ZeroAlloc(std::alloc::System);

fn main() -> ExitCode {
    let started = Instant::now();
    logging::quiet_panics();
    let _at_end = logging::FlushAtEnd;
    let refused = hardening::apply();
    tls::install_provider();
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(message) => return parser_message(&message, &words),
    };
    let format = cli.format();
    match cli.run(started, &refused) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            logging::flush();
            report(&failure, format);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Prints help to stdout, or a usage error to stderr and, with `--json`, as JSON to stdout.
fn parser_message(message: &clap::Error, words: &[OsString]) -> ExitCode {
    // If both are closed, there is nowhere left to report to.
    let _unheard = message.print();
    let is_wrong = message.use_stderr();
    if is_wrong && words.iter().any(|word| word == "--json") {
        let _unheard = print_error(&cli::wrong_usage(message));
    }
    ExitCode::from(if is_wrong { Failure::WRONG_USAGE } else { 0 })
}

/// Reports a failure to stderr and, if JSON was requested, as the one document on stdout.
fn report(failure: &Failure, format: Format) {
    let text = format!("vestry: {failure}");
    logging::unless_blocked(move || eprintln!("{text}"));
    if format == Format::Json && !failure.is_reported() {
        // If stdout is closed, there is nowhere left to report to.
        let _unheard = print_error(&failure.to_string());
    }
}

fn print_error(message: &str) -> Result<(), Failure> {
    let document = json!({ "error": { "message": message } });
    Output::new(document, "").print(Format::Json)
}

/// The multi-threaded runtime of the service.
fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .enable_all()
        .thread_name("vestry-service")
        .build()
        .context("cannot start the runtime")
}

/// Runs one command to completion.
fn with_runtime<T, C>(command: C) -> Result<T, Failure>
where
    C: AsyncFnOnce(Handle) -> Result<T, Failure>,
{
    let runtime = runtime()?;
    // Boxed, because a future passed to `block_on` by value is compiled three times, and this one contains every command.
    let command: Pin<Box<dyn Future<Output = _>>> = Box::pin(command(runtime.handle().clone()));
    let done = runtime.block_on(command);
    end(runtime);
    done
}

/// Shuts down the runtime. Tasks that still run have no caller left; blocking ones get a moment to end. SQLite threads are not awaited: an
/// interrupted transaction is either entirely in the file or not at all, and was not acknowledged.
fn end(runtime: Runtime) {
    runtime.shutdown_timeout(Duration::from_secs(2));
}
