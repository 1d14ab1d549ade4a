//! The load of `cargo xtask bench` on calls that wrk cannot make, because each needs something prepared: a code, a link, a
//! passkey's answer, a wallet's signature. What is prepared is made before the clock starts.
//!
//! `operations` prints one line for each operation, tab-separated: its name, calls a second, median and 99th percentile in
//! milliseconds, and so does `flood`, of session verifies at rest and in a flood of passwords. `signers` makes wallets of every
//! chain for wrk, and prints them; `seed` makes users in numbers. For `cargo xtask rotation`, `wallets` makes wallets in numbers,
//! and `signing` has them sign. `workers` asks the store what the service asks it beside requests, past the service.
//!
//! Not part of the product, and free of its rules about time and errors: a failure ends the program.

mod api;
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

use api::Api;
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
        Some("workers") => {
            let workers = Workers {
                database: value("--database")?,
                app: value("--app")?.parse()?,
                endpoint: value("--endpoint")?.parse()?,
                calls: value("--calls")?.parse()?,
            };
            runtime.block_on(workers.run())
        }
        _ => Err("expected operations, flood, seed, signers, wallets, signing or workers".into()),
    }
}
