//! The baselines of `cargo xtask bench`: the minimum cost of an operation on this machine, in this run.
//!
//! - `sign`: decrypts a key, signs messages and verifies the signatures on two threads, with the libraries of the service.
//! - `hash`: hashes passwords on two threads, with the default parameters of the service.
//! - `http`: serves an empty handler and a SELECT by primary key, with a pool and workers like the service's.
//!
//! It is not part of the product and its rules about time and errors do not apply: a failure ends the program.

mod hash;
mod http;
mod select;
mod sign;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

/// Any failure; it is printed and ends the program.
type Failure = Box<dyn Error + Send + Sync>;

/// The service's allocator, so that the comparison is not affected by it.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("baseline: {failure}");
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
    let length =
        || -> Result<Duration, Failure> { Ok(Duration::from_secs(value("--seconds")?.parse()?)) };
    match arguments.first().map(String::as_str) {
        Some("sign") => sign::run(value("--scheme")?, length()?),
        Some("hash") => hash::run(length()?),
        Some("http") => http::run(value("--database")?),
        _ => Err("expected sign, hash or http".into()),
    }
}

/// A runtime with two threads, like the service's on two cores.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(CORES)
        .enable_all()
        .build()?)
}

/// The number of cores that the figures are for.
const CORES: usize = 2;

/// Runs a loop on a thread for each core, and prints the total iterations per second.
fn on_all_cores(
    round: fn(Duration) -> Result<f64, Failure>,
    length: Duration,
) -> Result<(), Failure> {
    let threads: Vec<_> = (0..CORES)
        .map(|_| std::thread::spawn(move || round(length)))
        .collect();
    let mut total = 0.0;
    for thread in threads {
        total += thread.join().map_err(|_panic| "a thread panicked")??;
    }
    println!("{total:.1}");
    Ok(())
}
