//! `bench --peers`: what other open services take for the same, in turn with ours and on the same Postgres.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::load::{self, Draw, Load, Measured};
use super::pairs::{median, ratio};
use super::scene::{Operation, Scene, Whom};
use super::seeded::from_all_over;
use super::{Options, baseline, http};
use crate::failure::{Context, Failure};
use crate::keeper::Keeper;
use crate::lane::Missing;
use crate::node::{self, Node};
use crate::python::{self, Python};
use crate::site::Kind;
use crate::{process, project, wait};

/// How long the peer may take to make its users.
const PATIENCE: Duration = Duration::from_secs(600);

/// The extent of the comparison.
pub(super) struct Comparison {
    /// Users of ours.
    pub(super) users: u32,
    /// Users of each peer, each with a session.
    pub(super) of_peer: u32,
    pub(super) rounds: u32,
}

/// What to say where something is missing and may not be installed.
const LANES: &[&str] = &["bench --peers"];
const NODE_IS_MISSING: Missing = Missing {
    lanes: LANES,
    ..node::MISSING
};
const PYTHON_IS_MISSING: Missing = Missing {
    lanes: LANES,
    ..python::MISSING
};

/// The others, in the order in which [`Pair::theirs`] names their operations.
const PEERS: [&str; 2] = ["better-auth", "django-allauth"];

/// What both can do.
struct Pair {
    name: &'static str,
    ours: Operation,
    theirs: [&'static str; PEERS.len()],
    /// The maximum concurrency: the service rejects requests when the queue of its hashing threads is full.
    most: u32,
}

/// Users of ours with a password, and the list of them; the others have as many.
const WITH_PASSWORD: u32 = 64;
const LIST: &str = "users.password";

/// As many sessions of ours as each of the others has.
const AS_MANY: &str = "sessions.as_many";

/// As many as the command line says.
const ANY: u32 = u32::MAX;

const PAIRS: [Pair; 5] = [
    Pair {
        name: "session verify, get-session: as many sessions as they have",
        ours: operation("session_verify", AS_MANY, 1.0),
        theirs: ["better_auth_session", "allauth_session"],
        most: ANY,
    },
    Pair {
        name: "session verify, get-session: all of ours",
        ours: operation("session_verify", "sessions.cold", 1.0),
        theirs: ["better_auth_session", "allauth_session"],
        most: ANY,
    },
    Pair {
        name: "code send + verify (new user, session)",
        ours: operation("code", "users.hot", 2.0),
        theirs: ["better_auth_code", "allauth_code"],
        most: ANY,
    },
    Pair {
        name: "sign-in by password, equal Argon2id, 8 connections",
        ours: operation("password_verify", LIST, 1.0),
        theirs: ["better_auth_password", "allauth_password"],
        most: 8,
    },
    Pair {
        name: "user create (ours with a wallet)",
        ours: operation("user_create", "users.hot", 1.0),
        theirs: ["better_auth_create", "allauth_create"],
        most: ANY,
    },
];

const fn operation(name: &'static str, list: &'static str, requests: f64) -> Operation {
    Operation {
        name,
        list,
        requests,
    }
}

/// Measures and prints the table.
pub(super) fn run(options: &Options, load: Load, comparison: &Comparison) -> Result<(), Failure> {
    let Some(node) = Node::prepare(&node::PEERS, options.install)? else {
        return NODE_IS_MISSING.announce();
    };
    let Some(python) = Python::of_peers(options.install)? else {
        return PYTHON_IS_MISSING.announce();
    };
    let mut scene = Scene::set(Kind::Postgres, comparison.users, options)?;
    make_users_with_passwords(&scene)?;
    draw_as_many(&scene, comparison)?;
    let mut better_auth = Command::new("node");
    better_auth
        .arg("better_auth.mjs")
        .current_dir(node.home())
        .env("NODE_ENV", "production");
    let mut allauth = python.program("python");
    allauth.arg(project::root().join("xtask/peers/allauth/serve.py"));
    let [first, second] = PEERS;
    let mut peers = [
        Peer::start(first, better_auth, &scene, comparison.of_peer)?,
        Peer::start(second, allauth, &scene, comparison.of_peer)?,
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
        // The first of each fills pools and caches, and does not count.
        for round in 0..=comparison.rounds {
            let sample = scene.sample(Whom::Service, pair.ours, load)?;
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
    let idle = scene.resident()?;
    peers
        .into_iter()
        .try_for_each(|peer| peer.keeper.stop().map(drop))?;
    scene.strike(idle).map(drop)
}

/// Takes sessions from all over the list.
fn draw_as_many(scene: &Scene, comparison: &Comparison) -> Result<(), Failure> {
    let all = fs::read_to_string(scene.store("sessions.cold").0);
    let all = all.context("cannot read the sessions")?;
    let few = from_all_over(&all, comparison.of_peer);
    fs::write(scene.store(AS_MANY).0, few).context("cannot write a list")
}

/// Signs users up who get the password that `draw.lua` knows: sessions that were copied are too old to set one.
fn make_users_with_passwords(scene: &Scene) -> Result<(), Failure> {
    let (service, key) = scene.place();
    let call = |path: &str, body: Value| {
        let answer = http::post(service, &format!("/v1/auth/{path}"), key, &body)?;
        Ok::<_, Failure>(move |name: &str| answer.get(name).cloned().unwrap_or_default())
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
    fs::write(scene.store(LIST).0, list).context("cannot write a list")
}

fn row(name: &str, ours: &[Measured], theirs: &[Vec<Measured>]) -> String {
    let of = |these: &[Measured], read: fn(&Measured) -> f64| {
        median(&these.iter().map(read).collect::<Vec<_>>())
    };
    let rates = |these: &[Measured]| these.iter().map(|one| one.per_second).collect::<Vec<_>>();
    let side = |these: &[Measured]| {
        format!(
            "{:.0} | {:.2}, {:.2} |",
            of(these, |one| one.per_second),
            of(these, |one| one.p50),
            of(these, |one| one.p99),
        )
    };
    let mut row = format!("| {name} | {}", side(ours));
    for theirs in theirs {
        let times = ratio(&rates(ours), &rates(theirs))
            .map_or_else(String::new, |ratio| format!("{ratio:.1}"));
        row = format!("{row} {} {times} |", side(theirs));
    }
    row
}

/// Another service in as many processes as there are cores, on a database of its own in the same Postgres.
struct Peer {
    keeper: Keeper,
    url: String,
    /// A session a line, all of one length.
    sessions: PathBuf,
    draws: u32,
}

impl Peer {
    /// Starts the peer with its database and number of users, and waits until it has created them.
    fn start(name: &str, mut command: Command, scene: &Scene, users: u32) -> Result<Self, Failure> {
        let (sessions, ours) = scene.store(&format!("sessions.{name}"));
        let server = ours.rsplit_once('/').map_or(ours, |(server, _)| server);
        let database = name.replace('-', "_");
        let create = format!("CREATE DATABASE {database}");
        process::run_quietly(Command::new("psql").args(["-q", "-c", &create, ours]))?;
        command
            .arg(format!("{server}/{database}"))
            .arg(users.to_string());
        let log = baseline::log_file(&format!("bench-{name}"));
        let file = File::create(&log).context("cannot create a log")?;
        eprintln!("xtask: {name} makes {users} users");
        let mut keeper = Keeper::start(&command, "TERM", file, None)?;
        let url = wait::until(&format!("the start of {name}"), PATIENCE, || {
            baseline::require(&mut keeper, &log)?;
            let text = fs::read_to_string(&log).unwrap_or_default();
            let url = text.lines().find(|line| line.starts_with("http://"));
            Ok(url.map(str::to_owned))
        })?;
        let text = fs::read_to_string(&log).context("cannot read a log")?;
        fs::write(&sessions, even(&text)).context("cannot write the sessions")?;
        Ok(Self {
            keeper,
            url,
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
        let measured = load::draw(&self.url, draw, load)?.measured;
        Ok(Measured {
            per_second: measured.per_second / requests,
            ..measured
        })
    }
}

/// The sessions that were printed, filled up with spaces, which end no header.
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
    fn cookies_are_all_of_one_length() {
        let printed = "session=a%2Bb\nsession=ab\nsomething else\nhttp://127.0.0.1:1\n";
        assert_eq!(even(printed), "a%2Bb\nab   \n");
    }
}
