//! `bench --peers`: the same operations of other open-source services, in alternation with ours and on the same Postgres.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::StoreKind;
use xtask_harness::lane::Missing;
use xtask_harness::node::{self, Node};
use xtask_harness::python::{self, Python};
use xtask_harness::{database, project};

use crate::Options;
use crate::baseline::UrlServer;
use crate::bench_env::{BenchEnv, Operation, Target};
use crate::http::Connection;
use crate::load::{self, Draw, Load, Measured};
use crate::paired_stats::ratio;
use crate::seeded::from_all_over;

/// The time limit for a peer to create its users.
const PATIENCE: Duration = Duration::from_secs(600);

/// The number of users of each peer, each with a session.
const OF_PEER: u32 = 10_000;

/// Reported if something is missing and must not be installed.
const LANES: &[&str] = &["bench --peers"];
const NODE_IS_MISSING: Missing = Missing {
    lanes: LANES,
    ..node::MISSING
};
const PYTHON_IS_MISSING: Missing = Missing {
    lanes: LANES,
    ..python::MISSING
};

/// The peers, in the order of [`Pair::theirs`].
const PEERS: [&str; 2] = ["better-auth", "django-allauth"];

/// An operation that all of them have.
struct Pair {
    name: &'static str,
    ours: Operation,
    theirs: [&'static str; PEERS.len()],
    /// The maximum number of connections: the service rejects requests when the queue of its hashing threads is full.
    most: u32,
}

/// Our users with a password, and their list. Each peer has as many.
const WITH_PASSWORD: u32 = 64;
const LIST: &str = "users.password";

/// The list of as many of our sessions as each peer has.
const AS_MANY: &str = "sessions.as_many";

/// The number of connections from the command line.
const ANY: u32 = u32::MAX;

const PAIRS: [Pair; 5] = [
    Pair {
        name: "session verify, get-session: as many sessions as they have",
        ours: Operation::new("session_verify", AS_MANY),
        theirs: ["better_auth_session", "allauth_session"],
        most: ANY,
    },
    Pair {
        name: "session verify, get-session: all of ours",
        ours: Operation::VERIFY,
        theirs: ["better_auth_session", "allauth_session"],
        most: ANY,
    },
    Pair {
        name: "code send + verify (new user, session)",
        ours: Operation::CODE,
        theirs: ["better_auth_code", "allauth_code"],
        most: ANY,
    },
    Pair {
        name: "sign-in by password, equal Argon2id, 8 connections",
        ours: Operation::new("password_verify", LIST),
        theirs: ["better_auth_password", "allauth_password"],
        most: 8,
    },
    Pair {
        name: "user create (ours with a wallet)",
        ours: Operation::CREATE,
        theirs: ["better_auth_create", "allauth_create"],
        most: ANY,
    },
];

/// Measures and prints the table.
pub(crate) fn run(options: &Options, users: u32) -> Result<(), Failure> {
    let load = options.load(5);
    let Some(node) = Node::prepare(&node::PEERS, options.install)? else {
        return NODE_IS_MISSING.announce();
    };
    let Some(python) = Python::of_peers(options.install)? else {
        return PYTHON_IS_MISSING.announce();
    };
    let mut env = BenchEnv::start(StoreKind::Postgres, users, options)?;
    make_users_with_passwords(&env)?;
    draw_as_many(&env)?;
    let mut better_auth = Command::new("node");
    better_auth
        .arg("better_auth.mjs")
        .current_dir(node.home())
        .env("NODE_ENV", "production");
    let mut allauth = python.program("python");
    allauth.arg(project::root().join("xtask/bench/peers/allauth/serve.py"));
    let [first, second] = PEERS;
    let mut peers = [
        Peer::start(first, better_auth, &env)?,
        Peer::start(second, allauth, &env)?,
    ];
    let heads = PEERS.map(|name| format!(" {name}: per second | p50, p99 ms | ratio |"));
    println!(
        "| operation | Vestry: per second | p50, p99 ms |{}",
        heads.concat()
    );
    println!("|---|---:|---:|{}", "---:|---:|---:|".repeat(PEERS.len()));
    for pair in &PAIRS {
        let load = Load {
            connections: load.connections.min(pair.most),
            ..load
        };
        let mut ours = Vec::new();
        let mut theirs: [Vec<Measured>; PEERS.len()] = Default::default();
        // The first round fills pools and caches, and does not count.
        for round in 0..=options.rounds {
            let sample = env.sample(Target::Service, pair.ours, load)?;
            let one = Measured {
                per_second: sample.per_second,
                p50: sample.times.p50,
                p99: sample.times.p99,
            };
            if round > 0 {
                ours.push(one);
            }
            for ((peer, operation), theirs) in peers.iter_mut().zip(pair.theirs).zip(&mut theirs) {
                let measured = peer.measure(operation, pair.ours.requests, load)?;
                if round > 0 {
                    theirs.push(measured);
                }
            }
        }
        println!("{}", row(pair.name, &ours, &theirs));
    }
    let idle = env.resident()?;
    peers
        .into_iter()
        .try_for_each(|peer| peer.server.guard.stop().map(drop))?;
    env.stop(idle).map(drop)
}

/// Selects sessions evenly from the list.
fn draw_as_many(env: &BenchEnv) -> Result<(), Failure> {
    let all = fs::read_to_string(env.file("sessions.cold"));
    let all = all.context("cannot read the sessions")?;
    let few = from_all_over(&all, OF_PEER);
    fs::write(env.file(AS_MANY), few).context("cannot write a list")
}

/// Creates users with the password that `draw.lua` uses. The copied sessions are too old to set one.
fn make_users_with_passwords(env: &BenchEnv) -> Result<(), Failure> {
    let (service, key) = env.service();
    let mut connection = Connection::open(service, key)?;
    let mut call = |path: &str, body: Value| {
        let response = connection.send("POST", &format!("/v1/auth/{path}"), &body)?;
        Ok::<_, Failure>(move |name: &str| response.get(name).cloned().unwrap_or_default())
    };
    let mut list = String::new();
    for number in 0..WITH_PASSWORD {
        let email = format!("ok+password{number}@vestry.test");
        let sent = call("otps/email/login_or_create", json!({ "email": email }))?;
        let code =
            json!({ "method_id": sent("email_id"), "otp": "000000", "session_expires_in": 60 });
        let signed_in = call("otps/verify", code)?;
        let token = signed_in("session_token");
        let password = "correct horse battery staple";
        let password = json!({ "session_token": token, "password": password });
        drop(call("passwords/session/update", password)?);
        let user = signed_in("user_id");
        list.push_str(user.as_str().unwrap_or_default());
        list.push('\n');
    }
    fs::write(env.file(LIST), list).context("cannot write a list")
}

fn row(name: &str, ours: &[Measured], theirs: &[Vec<Measured>]) -> String {
    let rates = |these: &[Measured]| these.iter().map(|one| one.per_second).collect::<Vec<_>>();
    let side = |these: &[Measured]| {
        let Measured {
            per_second,
            p50,
            p99,
        } = Measured::median(these);
        format!("{per_second:.0} | {p50:.2}, {p99:.2} |")
    };
    let mut row = format!("| {name} | {}", side(ours));
    for theirs in theirs {
        let times = ratio(&rates(ours), &rates(theirs))
            .map_or_else(String::new, |ratio| format!("{ratio:.1}"));
        row = format!("{row} {} {times} |", side(theirs));
    }
    row
}

/// Another service, with a process per core and its own database in the same Postgres.
struct Peer {
    server: UrlServer,
    /// The list of sessions, one in each line, all of the same length.
    sessions: PathBuf,
    draws: u32,
}

impl Peer {
    /// Starts the peer, and waits until it has created its users.
    fn start(name: &str, mut command: Command, env: &BenchEnv) -> Result<Self, Failure> {
        let ours = env.database_url();
        let server = ours.rsplit_once('/').map_or(ours, |(server, _)| server);
        let database = name.replace('-', "_");
        database::run_script(ours, &format!("CREATE DATABASE {database};\n"))?;
        command
            .arg(format!("{server}/{database}"))
            .arg(OF_PEER.to_string());
        eprintln!("xtask: {name} creates {OF_PEER} users");
        let server = UrlServer::start(name, &command, PATIENCE)?;
        let sessions = env.file(&format!("sessions.{name}"));
        fs::write(&sessions, even(&server.output)).context("cannot write the sessions")?;
        Ok(Self {
            server,
            sessions,
            draws: 0,
        })
    }

    fn measure(&mut self, operation: &str, requests: f64, load: Load) -> Result<Measured, Failure> {
        self.draws += 1;
        let draw = Draw {
            operation,
            key: "none",
            list: &self.sessions,
            number: self.draws,
        };
        let measured = load::draw(&self.server.url, draw, load)?.measured;
        Ok(Measured {
            per_second: measured.per_second / requests,
            ..measured
        })
    }
}

/// The printed sessions, padded with spaces, which are ignored at the end of a header.
fn even(printed: &str) -> String {
    let cookies: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("session="))
        .collect();
    let width = cookies.iter().map(|one| one.len()).max().unwrap_or(0);
    cookies
        .iter()
        .map(|one| format!("{one:width$}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::even;

    #[test]
    fn cookies_are_padded_to_one_length() {
        let printed = "session=a%2Bb\nsession=ab\nsomething else\nhttp://127.0.0.1:1\n";
        assert_eq!(even(printed), "a%2Bb\nab   \n");
    }
}
