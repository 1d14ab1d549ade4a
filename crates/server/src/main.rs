//! The binary `vestry`: composition root and admin commands.
//!
//! The only crate that depends on all others. It reads the settings, opens the adapters and builds a service from them. It then serves
//! requests with it, or runs one admin command.

mod admin;
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
mod lazy_vault;
mod listen;
mod logging;
mod migrate;
mod output;
mod private_file;
mod serve;
mod signals;
mod tls;
mod worker;

use clap::Parser as _;
use std::ffi::OsString;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use zeroizing_alloc::ZeroAlloc;

use cli::{Cli, Command};
use config::Settings;
use failure::{Context, Failure};
use output::Format;

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
    let refused = hardening::apply();
    tls::install_provider();
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(answer) => return answer_of_the_parser(&answer, &words),
    };
    let format = cli.command.format();
    match run(cli, started, &refused) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tell(&failure, format);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Prints help to stdout, or a usage error to stderr and, with `--json`, as JSON to stdout.
fn answer_of_the_parser(answer: &clap::Error, words: &[OsString]) -> ExitCode {
    // If both are closed, there is nowhere left to report to.
    let _unheard = answer.print();
    let is_wrong = answer.use_stderr();
    if is_wrong && words.iter().any(|word| word == "--json") {
        let _unheard = print_error(&cli::wrong_usage(answer));
    }
    ExitCode::from(if is_wrong { Failure::WRONG_USAGE } else { 0 })
}

/// Reports a failure to stderr and, if JSON was requested, as the one document on stdout.
fn tell(failure: &Failure, format: Format) {
    eprintln!("vestry: {failure}");
    if format == Format::Json && !failure.is_answered() {
        // If stdout is closed, there is nowhere left to report to.
        let _unheard = print_error(&failure.to_string());
    }
}

fn print_error(message: &str) -> Result<(), Failure> {
    let document = json!({ "error": { "message": message } });
    Format::Json.print(&document, String::new)
}

fn run(cli: Cli, started: Instant, refused: &[&str]) -> Result<(), Failure> {
    let file = cli.config.as_deref();
    match cli.command {
        Command::Openapi => output::print_line(vestry_web::openapi().trim_end()),
        Command::Dev(arguments) => dev::run(&arguments, file, started),
        Command::Serve => {
            let settings = Settings::load(file)?;
            logging::start(&settings.log);
            for reason in refused {
                tracing::warn!(reason, "process hardening is incomplete");
            }
            serve::run(&settings)
        }
        Command::Worker => {
            let settings = Settings::load(file)?;
            logging::start(&settings.log);
            worker::run(&settings)
        }
        Command::Check(answer) => check::run(file, answer),
        Command::Listen(asked) => with_runtime(async |_runtime| listen::run(&asked).await),
        Command::Events(asked) => with_runtime(async |_runtime| listen::events(&asked).await),
        command => {
            let settings = Settings::load_for_people(file)?;
            logging::start(&settings.log);
            with_runtime(async move |handle| match command {
                Command::Migrate(asked) => migrate::run(&settings.database, asked).await,
                command => {
                    let base_url = dev::public_url(&settings);
                    admin::run(&settings, base_url.as_ref(), command, handle).await
                }
            })
        }
    }
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
fn with_runtime<C>(command: C) -> Result<(), Failure>
where
    C: AsyncFnOnce(tokio::runtime::Handle) -> Result<(), Failure>,
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
