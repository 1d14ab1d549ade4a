//! `cargo xtask attacks`: tests that every change runs at a smaller size, at full size.

use xtask_harness::arguments::Arguments;
use xtask_harness::failure::Failure;
use xtask_harness::process;
use xtask_harness::test_servers::TestServers;

pub(crate) const ABOUT: &str = "\
Run the statistical attack tests at full size (nightly).

Every change runs the same tests at a smaller size.

--timing       check that response times do not reveal whether a user exists (attack 10): an optimized build, on an otherwise
               idle machine, about 30 minutes
--samples N    samples of each kind (default 2000; a change uses 200)
--claims       check that random histories give each account to its rightful owner (attack 1): on the fakes, and a fiftieth
               of them over HTTP on each store
--histories N  the number of histories (default 100000; a change uses 400)
--races        check that a hundred parallel calls to two processes never create duplicates (R1 to R11, attack 4)
--rounds N     the number of rounds of each race (default 1000; a change uses 10)
--events       check that events, webhooks and the audit log lose nothing in kills, failovers and races (EV-K1 to EV-A2)
--operators    check that no race, kill or random key gets past operators, management keys and configuration documents (CN-P1 to CN-K2)
--no-install   do not install anything with apt-get";

/// Nightly tests of events, webhooks and the audit log, with their rounds. Each runs alone, because some need an idle machine.
const EVENTS: &[(&str, u32)] = &[
    ("ev_k1_followers", 200),
    ("ev_k1_no_receiver", 200),
    ("ev_k2", 50),
    ("ev_r1", 1_000),
    ("ev_r2_the_same", 1_000),
    ("ev_r3", 1_000),
    ("ev_r4", 20),
    ("ev_r5", 500),
    ("ev_a1", 5_000),
    ("ev_a2", 20),
];

/// Nightly tests of restricted keys, operators and the management API, with their rounds.
const OPERATORS: &[(&str, u32)] = &[
    ("cn_a1", 500),
    ("cn_c1", 1_000),
    ("cn_k1", 200),
    ("cn_k2", 50),
    ("cn_p1", 5_000),
    ("cn_r1", 10),
    ("cn_r2", 500),
];

/// The variable for the number of account histories on the fakes; a fiftieth of them runs over HTTP on each store.
const HISTORIES: &str = "VESTRY_TEST_HISTORIES";
/// The variable for the rounds of each race between parallel calls.
const ROUNDS: &str = "VESTRY_TEST_ROUNDS";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("attacks", arguments);
    let parts = ["--timing", "--claims", "--races", "--events", "--operators"];
    let [timing, claims, races, events, operators] = parts.map(|flag| arguments.flag(flag));
    if !timing && !claims && !races && !events && !operators {
        return Err(arguments.wrong("pass --timing, --claims, --races, --events or --operators"));
    }
    let install = arguments.install();
    let samples = arguments.number("--samples")?.unwrap_or(2_000);
    let histories = arguments.number("--histories")?.unwrap_or(100_000);
    let rounds = arguments.number("--rounds")?.unwrap_or(1_000);
    arguments.end()?;
    let servers = TestServers::start(install)?;
    let test = |name: &str, variable: &str, number: u32| {
        let mut command = servers.cargo_test(&["--workspace", "--test", "it"]);
        command.env(variable, number.to_string());
        process::run(command.args(["--", name, "--nocapture"]))
    };
    let run = || {
        if claims {
            test("random_histories", HISTORIES, histories)?;
        }
        if races {
            test("races::", ROUNDS, rounds)?;
        }
        for (is_wanted, tests) in [(events, EVENTS), (operators, OPERATORS)] {
            for (name, rounds) in tests.iter().filter(|_| is_wanted) {
                test(name, ROUNDS, *rounds)?;
            }
        }
        if timing {
            servers.run_timing_tests(Some(samples))?;
        }
        Ok(())
    };
    let outcome = run();
    servers.stop()?;
    outcome
}
