//! The binary `vestry`: composition root and admin commands.
//!
//! The only crate that knows them all: it reads the settings, opens the adapters, puts them together into a service
//! and runs it behind the edge, or runs one admin command on it.

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
mod late_vault;
mod listen;
mod logging;
mod migrate;
mod output;
mod private_file;
mod serve;
mod signals;
mod tls;
mod worker;

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

/// Wipes what it frees: a password or a token leaves copies in buffers of the HTTP server, of TLS and of the JSON parser, and none of
/// them outlives its use (M-11). What C libraries allocate for themselves is not wiped; SQLite and TLS see nothing in the clear that
/// is not in the database or on its way anyway.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: ZeroAlloc<tikv_jemallocator::Jemalloc> = ZeroAlloc(tikv_jemallocator::Jemalloc);

/// The same over the allocator of the machine.
#[cfg(not(feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: ZeroAlloc<std::alloc::System> = ZeroAlloc(std::alloc::System);

fn main() -> ExitCode {
    let started = Instant::now();
    logging::quiet_panics();
    let refused = hardening::apply();
    tls::install_provider();
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::read(&words) {
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

/// Help that was asked for, on stdout; or what is wrong with the command line, on stderr and for a program as on any failure.
fn answer_of_the_parser(answer: &clap::Error, words: &[OsString]) -> ExitCode {
    // Nobody is left to be told when both are gone.
    let _unheard = answer.print();
    let is_wrong = answer.use_stderr();
    if is_wrong && words.iter().any(|word| word == "--json") {
        let _unheard = print_error(&cli::wrong_usage(answer));
    }
    ExitCode::from(if is_wrong { Failure::WRONG_USAGE } else { 0 })
}

/// On stderr for people, and as the one document on stdout for a program that asked for JSON.
fn tell(failure: &Failure, format: Format) {
    eprintln!("vestry: {failure}");
    if format == Format::Json && !failure.is_answered() {
        // Nobody is left to be told when stdout is gone.
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
                tracing::warn!(reason, "the process is less protected than it should be");
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
        Command::Operator(_) => Err(not_built("operator", "there is no console to sign in to")),
        Command::Backup(_) => Err(not_built("backup", COPIES)),
        Command::Restore(_) => Err(not_built("restore", COPIES)),
        Command::Selftest(_) => Err(not_built(
            "selftest",
            "`vestry check` and `vestry vault verify` look at an installation",
        )),
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

/// What stands in for both halves of it.
const COPIES: &str = "until then, copy and put back the database by its own means and the root key files apart from it; docs/operations.md says how";

/// The answer of a command that has its name and nothing else yet.
fn not_built(command: &str, instead: &str) -> Failure {
    Failure::new(format!("`vestry {command}` is not built yet: {instead}"))
}

/// The runtime of the service: several threads, so that commands run side by side.
fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .enable_all()
        .thread_name("vestry-service")
        .build()
        .context("the runtime could not be started")
}

/// Runs one command to its end.
fn with_runtime<C>(command: C) -> Result<(), Failure>
where
    C: AsyncFnOnce(tokio::runtime::Handle) -> Result<(), Failure>,
{
    let runtime = runtime()?;
    // Boxed: a future that `block_on` is given by value is compiled three times, and this one holds every command.
    let command: Pin<Box<dyn Future<Output = _>>> = Box::pin(command(runtime.handle().clone()));
    let done = runtime.block_on(command);
    end(runtime);
    done
}

/// What still runs has nobody left to answer to; what blocks gets a moment to end. SQLite's threads are not waited for: a transaction
/// that was under way is in the file whole or not at all, and nobody was told that it is.
fn end(runtime: Runtime) {
    runtime.shutdown_timeout(Duration::from_secs(2));
}
