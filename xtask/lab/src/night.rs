//! `cargo xtask night`: all long runs, one after the other.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use xtask_harness::arguments::Arguments;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::{environment, process, project};

pub(crate) const ABOUT: &str = "\
Run everything that is too long for a change, one piece after the other.

Prints one line for each piece: `night NAME ok|FAILED SECONDS SEED`. Its output is in target/night/NAME.log. A failed piece does not stop
the rest. `VESTRY_TEST_SEED=SEED cargo xtask night NAME` repeats it. All pieces together take most of a day on two cores, and the machine
should have nothing else to do. docs/measurements.md has earlier results.

NAME…          run only these pieces, in the order of the list
--list         print the names of the pieces and what they run";

/// A piece of the night.
struct Piece {
    name: &'static str,
    /// The command of `cargo xtask`, and its arguments.
    command: &'static str,
    /// The value of [`ROUNDS`] for tests that have a number of their own.
    rounds: Option<u32>,
}

const fn piece(name: &'static str, command: &'static str) -> Piece {
    Piece {
        name,
        command,
        rounds: None,
    }
}

const fn test(name: &'static str, command: &'static str, rounds: u32) -> Piece {
    Piece {
        name,
        command,
        rounds: Some(rounds),
    }
}

/// The number of rounds of a test, and the seed of all its random choices.
const ROUNDS: &str = "VESTRY_TEST_ROUNDS";
const SEED: &str = "VESTRY_TEST_SEED";

/// In the order in which they run.
const PIECES: &[Piece] = &[
    piece("k5", "test k5_a_failover"),
    test("k6", "test pr_88_k6", 100),
    test("k9-1", "test k9_", 1),
    test("k9-2", "test k9_", 1),
    test("k9-3", "test k9_", 1),
    piece("races", "attacks --races"),
    piece("claims", "attacks --claims"),
    piece("events", "attacks --events"),
    piece("operators", "attacks --operators"),
    piece("timing", "attacks --timing"),
    piece("sabotage", "sabotage"),
    piece("fuzz", "fuzz"),
    piece("pgbouncer", "scale --pgbouncer"),
    piece("citus", "scale --citus"),
    piece("cluster", "scale --cluster"),
    piece("search", "bench --search --profile release"),
    piece(
        "bench-events",
        "bench --events --store sqlite --profile release",
    ),
    test(
        "invitations",
        "test pr_72_a_code_passes_the_invitations_of_another_app",
        1_000_000,
    ),
    piece("release", "release --twice"),
    piece("newcomer", "newcomer"),
    piece(
        "soak-sqlite",
        "bench --soak --minutes 120 --store sqlite --profile release",
    ),
    piece(
        "soak-postgres",
        "bench --soak --minutes 120 --store postgres --profile release",
    ),
];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("night", arguments);
    if arguments.flag("--list") {
        arguments.end()?;
        for Piece { name, command, .. } in PIECES {
            println!("{name:14} cargo xtask {command}");
        }
        return Ok(());
    }
    let names = arguments.words()?;
    let is_known = |name: &&String| PIECES.iter().any(|piece| piece.name == **name);
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let problem = format!("`{unknown}` is no piece of the night; --list names them");
        return Err(Arguments::new("night", &[]).wrong(&problem));
    }
    let logs = project::target().join("night");
    fs::create_dir_all(&logs).context(format!("cannot create {}", logs.display()))?;
    let mut failed = Vec::new();
    let is_wanted =
        |piece: &&Piece| names.is_empty() || names.iter().any(|name| name == piece.name);
    for piece in PIECES.iter().filter(is_wanted) {
        if !piece.run(&logs)? {
            failed.push(piece.name);
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "failed: {}; the logs are in {}",
            failed.join(", "),
            logs.display()
        ))),
    }
}

impl Piece {
    /// Runs it, prints its line, and returns whether it succeeded.
    fn run(&self, logs: &Path) -> Result<bool, Failure> {
        let seed = match environment::variable(SEED) {
            Some(seed) => seed,
            None => RandomState::new().hash_one(self.name).to_string(),
        };
        let log = logs.join(format!("{}.log", self.name));
        let output = File::create(&log).context(format!("cannot create {}", log.display()))?;
        let errors = output.try_clone().context("cannot share a log")?;
        eprintln!("xtask: {} runs, see {}", self.name, log.display());
        let mut command: Command = project::cargo();
        command
            .arg("xtask")
            .args(self.command.split(' '))
            .env(SEED, &seed)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        if let Some(rounds) = self.rounds {
            command.env(ROUNDS, rounds.to_string());
        }
        let start = Instant::now();
        let succeeded = process::run(&mut command).is_ok();
        println!(
            "night {} {} {} {seed}",
            self.name,
            if succeeded { "ok" } else { "FAILED" },
            start.elapsed().as_secs()
        );
        Ok(succeeded)
    }
}
