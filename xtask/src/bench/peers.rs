//! `bench --peers`: what other open services take for the same, in turn with ours and on the same Postgres.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::load::{self, Draw, Load, Measured};
use super::pairs::{median, ratio};
use super::scene::{Operation, Scene, Whom};
use super::{Options, baseline, http};
use crate::failure::{Context, Failure};
use crate::keeper::Keeper;
use crate::lane::Missing;
use crate::node::{self, Node};
use crate::site::Kind;
use crate::{process, wait};

/// How long the peer may take to make its users.
const PATIENCE: Duration = Duration::from_secs(600);

/// What is compared, and how often.
pub(super) struct Comparison {
    /// Users of ours.
    pub(super) users: u32,
    /// Users of the peer, each with a session.
    pub(super) of_peer: u32,
    pub(super) rounds: u32,
}

/// What to say where there is no Node and none may be installed.
const NODE_IS_MISSING: Missing = Missing {
    lanes: &["bench --peers"],
    ..node::MISSING
};

/// What both can do.
struct Pair {
    name: &'static str,
    ours: Operation,
    theirs: &'static str,
    /// At most so many at a time: whoever finds the line of the hashing threads full is turned away.
    most: u32,
}

/// As many as the command line says.
const ANY: u32 = u32::MAX;

const PAIRS: [Pair; 4] = [
    Pair {
        name: "session verify, get-session",
        ours: operation("session_verify", "sessions.cold", 1.0),
        theirs: "better_auth_session",
        most: ANY,
    },
    Pair {
        name: "code send + verify (new user, session)",
        ours: operation("code", "users.hot", 2.0),
        theirs: "better_auth_code",
        most: ANY,
    },
    Pair {
        name: "sign-in by password, equal Argon2id, 8 connections",
        ours: operation("password_verify", "users.hot", 1.0),
        theirs: "better_auth_password",
        most: 8,
    },
    Pair {
        name: "user create (ours with a wallet)",
        ours: operation("user_create", "users.hot", 1.0),
        theirs: "better_auth_create",
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
    let mut scene = Scene::set(Kind::Postgres, comparison.users, options)?;
    give_passwords(&scene)?;
    let (_, database_url) = scene.store("peer.sql");
    let mut peer = Peer::start(
        &node,
        database_url,
        comparison.of_peer,
        scene.store("cookies").0,
    )?;
    println!(
        "| operation | Vestry: per second | p50, p99 ms | better-auth: per second | p50, p99 ms | ratio |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for pair in &PAIRS {
        let load = Load {
            connections: load.connections.min(pair.most),
            ..load
        };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        // The first of each fills pools and caches, and does not count.
        for round in 0..=comparison.rounds {
            let sample = scene.sample(Whom::Service, pair.ours, load)?;
            let measured = peer.measure(pair, load)?;
            if round > 0 {
                ours.push(Measured {
                    per_second: sample.per_second,
                    p50: sample.times.p50,
                    p99: sample.times.p99,
                });
                theirs.push(measured);
            }
        }
        println!("{}", row(pair.name, &ours, &theirs));
    }
    let idle = scene.resident()?;
    peer.keeper.stop()?;
    scene.strike(idle).map(drop)
}

/// Everybody who is hot gets the password that `draw.lua` knows.
fn give_passwords(scene: &Scene) -> Result<(), Failure> {
    let (service, key) = scene.place();
    let tokens = fs::read_to_string(scene.store("sessions.hot").0);
    for token in tokens.context("cannot read the sessions")?.lines() {
        let password = "correct horse battery staple";
        let body = json!({ "session_token": token, "password": password });
        http::post(service, "/v1/auth/passwords/session/update", key, &body)?;
    }
    Ok(())
}

fn row(name: &str, ours: &[Measured], theirs: &[Measured]) -> String {
    let of = |these: &[Measured], read: fn(&Measured) -> f64| {
        median(&these.iter().map(read).collect::<Vec<_>>())
    };
    let rates = |these: &[Measured]| these.iter().map(|one| one.per_second).collect::<Vec<_>>();
    let ratio = ratio(&rates(ours), &rates(theirs)).map_or(String::new(), |ratio| {
        format!(
            "{:.1} ({:.1} to {:.1})",
            ratio.median, ratio.least, ratio.most
        )
    });
    let side = |these: &[Measured]| {
        format!(
            "{:.0} | {:.2}, {:.2}",
            of(these, |one| one.per_second),
            of(these, |one| one.p50),
            of(these, |one| one.p99),
        )
    };
    format!("| {name} | {} | {} | {ratio} |", side(ours), side(theirs))
}

/// better-auth in as many processes as there are cores, on a database of its own in the same Postgres.
struct Peer {
    keeper: Keeper,
    url: String,
    /// A cookie a line, all of one length.
    cookies: PathBuf,
    draws: u32,
}

impl Peer {
    fn start(node: &Node, ours: &str, users: u32, cookies: PathBuf) -> Result<Self, Failure> {
        let server = ours.rsplit_once('/').map_or(ours, |(server, _)| server);
        let mut create = Command::new("psql");
        create.args(["-q", "-c", "CREATE DATABASE better_auth", ours]);
        process::run_quietly(&mut create)?;
        let mut command = Command::new("node");
        command
            .arg("better_auth.mjs")
            .arg(format!("{server}/better_auth"))
            .arg(users.to_string())
            .current_dir(node.home())
            .env("NODE_ENV", "production");
        let log = baseline::log_file("bench-better-auth");
        let file = File::create(&log).context("cannot create a log")?;
        eprintln!("xtask: better-auth makes {users} users");
        let mut keeper = Keeper::start(&command, "TERM", file, None)?;
        let url = wait::until("the start of better-auth", PATIENCE, || {
            baseline::require(&mut keeper, &log)?;
            let text = fs::read_to_string(&log).unwrap_or_default();
            let url = text.lines().find(|line| line.starts_with("http://"));
            Ok(url.map(str::to_owned))
        })?;
        let text = fs::read_to_string(&log).context("cannot read a log")?;
        fs::write(&cookies, even(&text)).context("cannot write the cookies")?;
        Ok(Self {
            keeper,
            url,
            cookies,
            draws: 0,
        })
    }

    fn measure(&mut self, pair: &Pair, load: Load) -> Result<Measured, Failure> {
        self.draws += 1;
        let draw = Draw {
            operation: pair.theirs,
            key: "none",
            list: &self.cookies,
            number: self.draws,
        };
        let measured = load::draw(&self.url, draw, load)?.measured;
        Ok(Measured {
            per_second: measured.per_second / pair.ours.requests,
            ..measured
        })
    }
}

/// The cookies that were printed, filled up with spaces, which end no header.
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
