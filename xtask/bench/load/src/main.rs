//! The load generator of `cargo xtask bench` for calls that wrk cannot make, because each needs preparation: a code, a link, a passkey
//! assertion, a wallet signature. Preparations are made before the clock starts.
//!
//! - `operations` prints a line for each operation: its name, calls per second, median and 99th percentile in milliseconds, separated by
//!   tabs.
//! - `flood` prints the same for session verifications at rest and during a flood of password verifications.
//! - `signers` creates wallets of every chain and prints them for wrk.
//! - `seed` creates the users of the bench.
//! - `wallets` creates many wallets, with which `signing` signs at a fixed rate, for `cargo xtask rotation`.
//! - `console-join` makes an operator who joins the console, and prints the cookie; with it, `console` clicks through the pages and prints
//!   their times.
//! - `workers` times store operations that the service runs outside requests.
//!
//! It is not part of the product and its rules about time and errors do not apply: a failure ends the program.

mod api;
mod console;
mod operations;
mod people;
mod seed;
mod signers;
mod signing;
mod stopwatch;
mod wallets;
mod workers;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use api::Api;
use console::{Clicks, Console};
use signing::Signing;
use stopwatch::Stopwatch;
use workers::Workers;

/// Any failure; it is printed and ends the program.
type Failure = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("load: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1))
            .ok_or_else(|| Failure::from(format!("{name} is missing")))
    };
    // The client needs to know a cryptographic provider; nothing here is encrypted.
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    provider
        .install_default()
        .map_err(|_installed| "there is a TLS provider already")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let key = || value("--key");
    let service = || Api::new(value("--service")?, key()?);
    match arguments.first().map(String::as_str) {
        Some("operations") => {
            let stopwatch = Stopwatch {
                calls: value("--calls")?.parse()?,
                connections: value("--connections")?.parse()?,
            };
            let baseline = Api::new(value("--baseline")?, "")?;
            runtime.block_on(operations::run(&baseline, &service()?, stopwatch))
        }
        Some("flood") => {
            let stopwatch = Stopwatch {
                calls: value("--calls")?.parse()?,
                connections: 1,
            };
            runtime.block_on(operations::flood::run(&service()?, stopwatch))
        }
        Some("seed") => {
            let (users, connections) = (value("--users")?.parse()?, value("--connections")?);
            let into = Path::new(value("--into")?);
            runtime.block_on(seed::run(&service()?, users, connections.parse()?, into))
        }
        Some("signers") => {
            let connections = value("--connections")?.parse()?;
            runtime.block_on(signers::run(&service()?, connections))
        }
        Some("wallets") => {
            let (count, connections) = (value("--count")?.parse()?, value("--connections")?);
            let into = Path::new(value("--into")?);
            runtime.block_on(wallets::run(&service()?, count, connections.parse()?, into))
        }
        Some("signing") => {
            let services = value("--services")?
                .split(',')
                .map(|url| Api::new(url, key()?));
            let wallets = std::fs::read_to_string(value("--wallets")?)?;
            let signing = Signing::new(services.collect::<Result<_, _>>()?, &wallets)?;
            runtime.block_on(signing.run(value("--per-second")?.parse()?))
        }
        Some("console-join") => {
            let console = Console::new(value("--service")?, value("--origin")?, "")?;
            runtime.block_on(console.join(value("--link")?))
        }
        Some("console") => {
            let (service, origin) = (value("--service")?, value("--origin")?);
            let console = Console::new(service, origin, value("--cookie")?)?;
            let clicks = Clicks {
                app: value("--app")?.clone(),
                operators: value("--operators")?.parse()?,
                pause: Duration::from_millis(value("--pause-ms")?.parse()?),
                time: Duration::from_secs(value("--seconds")?.parse()?),
            };
            runtime.block_on(console.click(&clicks))
        }
        Some("workers") => {
            let workers = Workers {
                database: value("--database")?,
                app: value("--app")?.parse()?,
                endpoint: value("--endpoint")?.parse()?,
                calls: value("--calls")?.parse()?,
            };
            runtime.block_on(workers.run())
        }
        _ => Err("expected operations, flood, seed, signers, wallets, signing, console-join, console or workers".into()),
    }
}
