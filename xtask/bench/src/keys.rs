//! `bench --keys`: the cost of a key's restrictions, in alternation with a key that has none.

use std::fs;

use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::{StoreKind, text};

use crate::bench_env::{BenchEnv, Operation, Sample, each};
use crate::paired_stats::{median, shown_ratio};
use crate::{Options, suite};

/// Wallets, each with the session of its owner behind a space.
const OWNERS: &str = "owners.cold";

/// A session verification with a key that has every restriction that it can meet, and a signature with the owner's session.
const COMPARED: [(&str, Operation, Operation); 2] = [
    (
        "session verify, restricted key",
        Operation::new("session_verify", "sessions.hot"),
        Operation::new("session_verify", "sessions.hot"),
    ),
    (
        "sign_message Ethereum, owner's session",
        Operation::new("sign_message", "wallets.cold"),
        Operation::new("sign_message_in_session", OWNERS),
    ),
];

/// Measures and prints the table.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let load = options.load(5);
    println!(
        "| store | operation | unrestricted key: per second | restricted key | ratio | unrestricted: µs service, database | restricted |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|");
    for kind in &options.stores {
        let mut env = BenchEnv::start(*kind, suite::USERS, options)?;
        let restricted = prepare(&env)?;
        for ((name, plain, limited), key) in COMPARED.into_iter().zip(restricted) {
            let (mut without, mut with) = (Vec::new(), Vec::new());
            // The first round fills pools and caches, and does not count.
            for round in 0..=options.rounds {
                // Each goes first in half of the rounds: the machine can be slower at the end of a round than at its beginning.
                let (one, other);
                if round % 2 == 0 {
                    one = env.sample_with(None, plain, load)?;
                    other = env.sample_with(Some(&key), limited, load)?;
                } else {
                    other = env.sample_with(Some(&key), limited, load)?;
                    one = env.sample_with(None, plain, load)?;
                }
                if round > 0 {
                    without.push(one);
                    with.push(other);
                }
            }
            print(*kind, name, &without, &with);
        }
        env.stop(0.0)?;
    }
    Ok(())
}

/// Creates the keys for [`COMPARED`] and the list of owners.
fn prepare(env: &BenchEnv) -> Result<[String; 2], Failure> {
    let read = |name: &str| fs::read_to_string(env.file(name)).context("cannot read a list");
    let (wallets, sessions) = (read("wallets.cold")?, read("sessions.cold")?);
    let owners: String = (wallets.lines().zip(sessions.lines()))
        .map(|(wallet, session)| format!("{wallet} {session}\n"))
        .collect();
    fs::write(env.file(OWNERS), owners).context("cannot write a list")?;
    let users: Vec<String> = read("users.hot")?.lines().map(str::to_owned).collect();
    let users = users.join(",");
    let verifier = [
        "--scope",
        "sessions:write",
        "--operation",
        "verifySession,listSessions",
        "--ip-allow",
        "2001:db8::/32,127.0.0.0/8",
        "--expires-in",
        "30d",
        "--user",
        &users,
    ];
    Ok([
        env.new_key(&verifier)?,
        env.new_key(&["--preset", "signer"])?,
    ])
}

impl BenchEnv {
    /// Creates another key of the App.
    fn new_key(&self, options: &[&str]) -> Result<String, Failure> {
        let installation = self.installation();
        let apps = installation.admin(&["app", "list"])?;
        let app = text(&apps, "/apps/0/id")?;
        let made = installation.admin(&[&["key", "create", &app, "test"], options].concat())?;
        text(&made, "/key")
    }
}

fn print(kind: StoreKind, name: &str, without: &[Sample], with: &[Sample]) {
    let rates = |samples: &[Sample]| each(samples, |sample| sample.per_second);
    let service = |samples| median(&each(samples, |sample| sample.cost.service));
    let database = |samples| median(&each(samples, |sample| sample.cost.database));
    println!(
        "| {} | {name} | {:.0} | {:.0} | {} | {:.0}, {:.0} | {:.0}, {:.0} |",
        kind.name(),
        median(&rates(without)),
        median(&rates(with)),
        shown_ratio(&rates(with), &rates(without)),
        service(without),
        database(without),
        service(with),
        database(with),
    );
}
