//! `cargo xtask sabotage`: whether the attacks find holes that were made on purpose.

use std::process::{Command, Stdio};

use crate::failure::{Context, Failure};
use crate::postgres::{self, Durability, Postgres};
use crate::project;

pub(crate) const ABOUT: &str = "\
See that the tests find holes made on purpose.

The service is built with holes behind cargo features that no build for use can have: a code that is read and then
written instead of used up by one guarded statement, no hash for users who do not exist, a code in the log, private keys
that are bound to no place, a wallet that is looked for and then stored, guarded by nothing. For each hole, the test that
must find it has to fail, and to say why; a hole that nobody finds is the failure of this command. It needs Postgres: in
SQLite, which has one writer at a time, the first hole is none.

--no-install   install nothing with apt-get";

/// A hole, and who must find it.
struct Hole {
    /// A feature of `vestry-web`, which hands it on to the crate with the hole.
    feature: &'static str,
    /// The test that must fail.
    test: &'static str,
    /// What it must say: a test that fails for another reason has found nothing.
    says: &'static str,
}

const HOLES: &[Hole] = &[
    Hole {
        feature: "sabotage-read-then-write",
        test: "attacks::codes::on_postgres::attack_4_parallel_tries_are_exact",
        says: "attack 4: sign-ins with one code",
    },
    Hole {
        feature: "sabotage-skip-argon2",
        test: "attacks::timing::attack_10_passwords_take_their_time_on_sqlite",
        says: "attack 10: kinds of users could be told apart in every round",
    },
    Hole {
        feature: "sabotage-log-code",
        test: "attacks::logs::on_sqlite::otp_9_no_code_reaches_the_log",
        says: "OTP-9: a code is in the log",
    },
    Hole {
        feature: "sabotage-missing-aad",
        test: "tests::wallets::t1_t3_the_layers_of_one_wallet_do_not_open_in_the_row_of_another",
        says: "T1: the key of another wallet signed",
    },
    Hole {
        feature: "sabotage-read-then-create",
        test: "wallets::on_sqlite::r1_a_hundred_calls_at_once_make_one_wallet",
        says: "R1: wallets of one user and type",
    },
    Hole {
        feature: "sabotage-read-then-create",
        test: "wallets::on_postgres::r1_a_hundred_calls_at_once_make_one_wallet",
        says: "R1: wallets of one user and type",
    },
];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let install = match arguments {
        [] => true,
        [flag] if flag == "--no-install" => false,
        _ => {
            return Err(Failure::Usage(
                "`sabotage` takes `--no-install` and nothing else.".to_owned(),
            ));
        }
    };
    let Some(postgres) = Postgres::find_or_install(install)? else {
        return postgres::MISSING.announce();
    };
    let postgres = postgres.start(Durability::Memory)?;
    let said = attacked(postgres.url());
    postgres.stop()?;
    judge(&said?)
}

/// What the tests printed that must find the holes.
fn attacked(postgres: &str) -> Result<String, Failure> {
    let features: Vec<_> = HOLES
        .iter()
        .map(|hole| format!("vestry-web/{}", hole.feature))
        .collect();
    let mut command: Command = project::cargo();
    command
        .args(["test", project::LIGHT])
        // One build: the tests of custody are not those over HTTP.
        .args(["--package", "vestry-web", "--test", "it"])
        .args(["--package", "vestry-custody", "--lib"])
        .args(["--features", &features.join(",")])
        .args(["--no-fail-fast", "--", "--exact"])
        .args(HOLES.iter().map(|hole| hole.test))
        .env("VESTRY_TEST_POSTGRES_URL", postgres)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    // It ends badly whatever it found; the judgement is about what it printed.
    let output = command.output().context("cannot start cargo test")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Prints the outcome for every hole; a failure when there is one that was not found.
fn judge(said: &str) -> Result<(), Failure> {
    let mut unseen = Vec::new();
    for hole in HOLES {
        let outcome = if found(said, hole) {
            "found by"
        } else {
            "NOT FOUND by"
        };
        println!("{:<26} {outcome} {}", hole.feature, hole.test);
        if !found(said, hole) {
            unseen.push(hole.feature);
        }
    }
    if unseen.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "these holes were not found: {}\n\n{said}",
        unseen.join(", ")
    )))
}

/// Whether the test failed, and said why.
fn found(said: &str, hole: &Hole) -> bool {
    let failed = said
        .lines()
        .any(|line| line == format!("test {} ... FAILED", hole.test));
    let start = format!("---- {} stdout ----", hole.test);
    let own_words = said
        .split_once(&start)
        .map(|(_, rest)| rest.split("\n---- ").next().unwrap_or_default());
    failed && own_words.is_some_and(|words| words.contains(hole.says))
}

#[cfg(test)]
mod tests;
