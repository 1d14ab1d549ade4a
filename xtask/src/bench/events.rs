//! `bench --events`: the figures of events and webhooks (events.md, section 6).
//!
//! Everything is measured on an App of its own, with few users: what is asked is what events cost beside the change that they tell of,
//! and not how a large database does.

mod delays;
pub(super) mod hooks;
mod rows;

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Options;
use super::http::Connection;
use super::journeys::parse;
use super::load::{self, Draw, Load};
use super::pairs::{median, ratio};
use super::seeded::run_script;
use super::usage::{float, resident};
use crate::failure::{Context, Failure};
use crate::process;
use crate::site::{Kind, Server, Site, cluster};
use crate::wait;
use delays::{Made, make_users, milliseconds, percentile};
use hooks::Hook;
use rows::World;

/// Wallets that sign.
const WALLETS: u32 = 320;
/// Receivers among whom events are fanned out.
const RECEIVERS: usize = 10;
/// Events that are fanned out at once.
const FANNED_OUT: u32 = 2_000;
/// Endpoints that never answer, and how many of them an App has.
const DEAD: usize = 100;
const OF_AN_APP: usize = 19;
/// Deliveries that wait.
const WAITING: u32 = 100_000;
/// How often the store is asked what the service asks it beside requests.
const WORKER_CALLS: &str = "1000";
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// How much is measured.
pub(super) struct Extent {
    /// Events of the log that is read.
    pub(super) log: u32,
    /// Programs of a build that tells of nothing.
    pub(super) against: Option<PathBuf>,
    /// The number of rounds of each comparison.
    pub(super) rounds: u32,
}

/// A figure and its target.
struct Figure {
    store: &'static str,
    name: String,
    measured: String,
    bar: &'static str,
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            store,
            name,
            measured,
            bar,
        } = self;
        write!(f, "| {store} | {name} | {measured} | {bar} |")
    }
}

pub(super) fn run(options: &Options, load: Load, extent: &Extent) -> Result<(), Failure> {
    let mut figures = Vec::new();
    for kind in &options.stores {
        let mut stage = Stage::set(*kind, options, load, extent)?;
        stage.compare_builds()?;
        stage.compare_signatures()?;
        stage.sequence()?;
        stage.see_changes()?;
        stage.read()?;
        stage.fan_out()?;
        stage.beside_the_dead()?;
        stage.beside_many_waiting()?;
        figures.append(&mut stage.figures);
    }
    println!("| store | figure | measured | bar |\n|---|---|---:|---:|");
    for figure in figures {
        println!("{figure}");
    }
    Ok(())
}

/// One store while it is measured.
struct Stage<'a> {
    kind: Kind,
    programs: PathBuf,
    load: Load,
    extent: &'a Extent,
    site: Site,
    key: String,
    app: String,
    figures: Vec<Figure>,
    /// Draws so far.
    draws: u32,
    _cluster: Option<crate::postgres::Cluster>,
}

impl<'a> Stage<'a> {
    fn set(kind: Kind, options: &Options, load: Load, extent: &'a Extent) -> Result<Self, Failure> {
        let programs = options.programs();
        let cluster = cluster(kind, options.install)?;
        let mut site = Site::new(&programs, cluster.as_ref().map(|cluster| cluster.url()))?;
        site.log_requests();
        site.set("VESTRY_OUTBOUND__ALLOWED_NETWORKS", "127.0.0.0/8");
        let key = site.set_up()?;
        let apps = site.admin(&["app", "list"])?;
        let app = apps.pointer("/apps/0/id").and_then(Value::as_str);
        let app = app
            .ok_or_else(|| Failure::new("there is no App"))?
            .to_owned();
        Ok(Self {
            kind,
            programs,
            load,
            extent,
            site,
            key,
            app,
            figures: Vec::new(),
            draws: 0,
            _cluster: cluster,
        })
    }

    fn note(&mut self, name: impl Into<String>, measured: impl Into<String>, bar: &'static str) {
        let figure = Figure {
            store: self.kind.name(),
            name: name.into(),
            measured: measured.into(),
            bar,
        };
        eprintln!("{figure}");
        self.figures.push(figure);
    }

    fn world(&self) -> World<'_> {
        World {
            kind: self.kind,
            app: &self.app,
        }
    }

    fn script(&self, text: &str) -> Result<(), Failure> {
        let file = self.site.file("script.sql");
        fs::write(&file, text).context("cannot write a script")?;
        run_script(self.kind, &self.site.database_url, &file)
    }

    fn draw(
        &mut self,
        server: &Server,
        operation: &str,
        list: &str,
    ) -> Result<load::Measured, Failure> {
        self.draws += 1;
        let draw = Draw {
            operation,
            key: &self.key,
            list: &self.site.file(list),
            number: self.draws,
        };
        Ok(load::draw(&server.base_url, draw, self.load)?.measured)
    }

    /// Creating users and codes, with and without events; only where there is a build without.
    fn compare_builds(&mut self) -> Result<(), Failure> {
        let Some(without) = self.extent.against.clone() else {
            return Ok(());
        };
        fs::write(self.site.file("nothing.txt"), "-\n").context("cannot write a list")?;
        for (operation, name) in [
            ("user_create", "user create, with events to without"),
            ("code", "code send + verify, with events to without"),
        ] {
            let (mut with_events, mut without_events) = (Vec::new(), Vec::new());
            for _ in 0..self.extent.rounds {
                for (programs, rates) in [
                    (self.programs.clone(), &mut with_events),
                    (without.clone(), &mut without_events),
                ] {
                    self.site.run_from(&programs);
                    let server = self.site.serve(0)?;
                    // Pools and caches fill.
                    self.draw(&server, operation, "nothing.txt")?;
                    rates.push(self.draw(&server, operation, "nothing.txt")?.per_second);
                    server.stop()?;
                }
            }
            self.note_ratio(name, &with_events, &without_events, "≥ 0.95");
        }
        self.site.run_from(&self.programs.clone());
        Ok(())
    }

    fn note_ratio(&mut self, name: &str, these: &[f64], those: &[f64], bar: &'static str) {
        let (this, that) = (median(these), median(those));
        let ratio = ratio(these, those).map_or_else(String::new, |ratio| {
            format!(
                "{:.2} ({:.2} to {:.2}; {this:.0} and {that:.0} a second)",
                ratio.median, ratio.least, ratio.most
            )
        });
        self.note(name, ratio, bar);
    }

    /// Signatures that are told of, and signatures that are not.
    fn compare_signatures(&mut self) -> Result<(), Failure> {
        let server = self.site.serve(0)?;
        let wallets = self.site.file("wallets.tsv");
        let load = self.programs.join("vestry-bench-load");
        server.make_wallets(&load, &self.key, WALLETS, &wallets)?;
        let listed = fs::read_to_string(&wallets).context("cannot read the list of wallets")?;
        let ids = listed.lines().filter_map(|line| line.split('\t').next());
        let ids: Vec<_> = ids.collect();
        fs::write(self.site.file("wallets.txt"), ids.join("\n") + "\n")
            .context("cannot write the list of wallets")?;
        let (mut told, mut untold) = (Vec::new(), Vec::new());
        for _ in 0..self.extent.rounds {
            for (events, rates) in [
                ("events_optional=[\"wallet.signed\"]", &mut told),
                ("events_optional=[]", &mut untold),
            ] {
                self.site.admin(&["app", "set", &self.app, events])?;
                rates.push(
                    self.draw(&server, "sign_message", "wallets.txt")?
                        .per_second,
                );
            }
        }
        server.stop()?;
        self.note_ratio(
            "sign_message, with wallet.signed to without",
            &told,
            &untold,
            "≥ 0.90",
        );
        Ok(())
    }

    /// Where the log ends.
    fn newest(connection: &mut Connection) -> Result<u64, Failure> {
        let head = connection.get("/v1/events/head")?;
        Ok(head
            .pointer("/newest/position")
            .and_then(Value::as_u64)
            .unwrap_or(0))
    }

    /// Sixteen writers leave events as fast as they can, until all have their places. On SQLite one: others would only wait.
    fn sequence(&mut self) -> Result<(), Failure> {
        let server = self.site.serve(0)?;
        let mut connection = Connection::open(&server.base_url, &self.key)?;
        let before = Self::newest(&mut connection)?;
        let writers: u32 = match self.kind {
            Kind::Postgres => 16,
            Kind::Sqlite => 1,
        };
        let of_one = self.extent.log.min(160_000) / writers;
        let mut scripts = Vec::new();
        for writer in 0..writers {
            let file = self.site.file(&format!("writer-{writer}.sql"));
            let text = self.world().inbox(&format!("w{writer:02}"), of_one);
            fs::write(&file, text).context("cannot write a script")?;
            scripts.push(file);
        }
        let begun = Instant::now();
        let (kind, url) = (self.kind, self.site.database_url.clone());
        let running = scripts.into_iter().map(|script| {
            let url = url.clone();
            std::thread::spawn(move || run_script(kind, &url, &script))
        });
        for writer in running.collect::<Vec<_>>() {
            let ended = writer.join();
            ended.map_err(|_panic| Failure::new("a writer panicked"))??;
        }
        let written = begun.elapsed();
        let all = before + u64::from(writers * of_one);
        wait::until("the last place", PATIENCE, || {
            let newest = Self::newest(&mut connection)?;
            Ok((newest >= all).then_some(()))
        })?;
        let placed = begun.elapsed();
        server.stop()?;
        let per_second = float(u64::from(writers * of_one)) / placed.as_secs_f64();
        self.note(
            format!("events that get their places, {writers} writers"),
            format!(
                "{per_second:.0} a second (written in {:.1} s, placed in {:.1})",
                written.as_secs_f64(),
                placed.as_secs_f64()
            ),
            match self.kind {
                Kind::Postgres => "≥ 5,000",
                Kind::Sqlite => "–",
            },
        );
        Ok(())
    }

    /// A reader waits at the end of the log while 333 users a second are created, with three events each.
    fn see_changes(&mut self) -> Result<(), Failure> {
        let per_second = match self.kind {
            Kind::Postgres => 333,
            Kind::Sqlite => 100,
        };
        let server = self.site.serve(0)?;
        let mut connection = Connection::open(&server.base_url, &self.key)?;
        let head = connection.get("/v1/events/head")?;
        let newest = head.pointer("/newest/id").and_then(Value::as_str);
        let mut after = newest.unwrap_or_default().to_owned();
        let (base_url, key, seconds) =
            (server.base_url.clone(), self.key.clone(), self.load.seconds);
        let writing =
            std::thread::spawn(move || make_users(&base_url, &key, per_second, seconds, "seen"));
        let mut seen = HashMap::new();
        let mut made = None;
        let begun = Instant::now();
        let mut writing = Some(writing);
        while begun.elapsed() < PATIENCE {
            if writing.as_ref().is_some_and(JoinHandle::is_finished)
                && let Some(ended) = writing.take()
            {
                let ended = ended.join();
                made = Some(ended.map_err(|_panic| Failure::new("a client panicked"))??);
            }
            let page = connection.get(&format!(
                "/v1/events?limit=1000&wait=1&types=user.created&after={after}"
            ))?;
            let now = Instant::now();
            let events = page.get("events").and_then(Value::as_array);
            for event in events.into_iter().flatten() {
                if let Some(user) = event.pointer("/data/user_id").and_then(Value::as_str) {
                    seen.insert(user.to_owned(), now);
                }
            }
            if let Some(next) = page.get("next_after").and_then(Value::as_str) {
                next.clone_into(&mut after);
            }
            let all = |made: &Made| made.iter().all(|(user, _)| seen.contains_key(user));
            if made.as_ref().is_some_and(all) {
                break;
            }
        }
        let made = made.ok_or_else(|| Failure::new("the clients did not end"))?;
        server.stop()?;
        let delays = made.iter().map(|(user, at)| {
            let seen = seen.get(user);
            let seen = seen.ok_or_else(|| Failure::new("an event was not seen"))?;
            Ok(milliseconds(*at, *seen))
        });
        let delays: Vec<f64> = delays.collect::<Result<_, Failure>>()?;
        self.note(
            format!("from the answer to a waiting reader, {per_second} users a second"),
            format!(
                "p50 {:.0} ms, p99 {:.0} ms",
                percentile(&delays, 50),
                percentile(&delays, 99)
            ),
            "p99 ≤ 250 ms",
        );
        Ok(())
    }

    /// Pages of a thousand out of all of the log.
    fn read(&mut self) -> Result<(), Failure> {
        let server = self.site.serve(0)?;
        let mut connection = Connection::open(&server.base_url, &self.key)?;
        let known = Self::newest(&mut connection)?;
        server.stop()?;
        let wanted = u64::from(self.extent.log);
        if known < wanted {
            self.script(&self.world().log(known, wanted))?;
        }
        let list = self.site.file("events.txt");
        let sample = self.world().sample();
        let mut ask = match self.kind {
            Kind::Postgres => {
                let mut psql = Command::new("psql");
                psql.args(["-tA", "-c", &sample])
                    .arg(&self.site.database_url);
                psql
            }
            Kind::Sqlite => {
                let mut sqlite = Command::new("sqlite3");
                sqlite.arg(self.site.database_url.trim_start_matches("sqlite:"));
                sqlite.arg(&sample);
                sqlite
            }
        };
        fs::write(&list, process::output(&mut ask)?).context("cannot write a list")?;
        let server = self.site.serve(0)?;
        let load = Load {
            connections: 2,
            ..self.load
        };
        let kept = std::mem::replace(&mut self.load, load);
        let pages = self.draw(&server, "events_page", "events.txt")?;
        self.load = kept;
        server.stop()?;
        let log = known.max(wanted);
        self.note(
            format!("events read in pages of 1,000 out of {log}, 2 connections"),
            format!(
                "{:.0} a second; a page p50 {:.1} ms, p99 {:.1} ms",
                pages.per_second * 1_000.0,
                pages.p50,
                pages.p99
            ),
            "≥ 50,000; p99 ≤ 30 ms",
        );
        Ok(())
    }

    fn endpoint(&self, app: &str, url: &str, types: &str) -> Result<String, Failure> {
        let made = self
            .site
            .admin(&["webhook", "create", app, "test", url, "--types", types])?;
        let id = made.get("id").and_then(Value::as_str).map(str::to_owned);
        id.ok_or_else(|| Failure::new("an endpoint has no id"))
    }

    fn remove(&self, endpoint: &str) -> Result<(), Failure> {
        self.site
            .admin(&["webhook", "delete", &self.app, endpoint])?;
        Ok(())
    }

    /// Ten receivers of all events: first many events at once, then users at a steady rate.
    fn fan_out(&mut self) -> Result<(), Failure> {
        let hooks: Vec<Hook> = (0..RECEIVERS)
            .map(|_| Hook::sound())
            .collect::<Result<_, _>>()?;
        let mut endpoints = Vec::new();
        for hook in &hooks {
            endpoints.push(self.endpoint(&self.app, &hook.url, "user.created")?);
        }
        let server = self.site.serve(0)?;
        // Each shows that it answers.
        let made = make_users(&server.base_url, &self.key, 20, 1, "first")?;
        self.delays(&hooks, &made)?;
        let all = |hooks: &[Hook]| hooks.iter().map(|hook| hook.count().0).sum::<usize>();
        let before = all(&hooks);
        self.script(&self.world().inbox("fan", FANNED_OUT))?;
        let begun = Instant::now();
        let count = usize::try_from(FANNED_OUT).unwrap_or(usize::MAX) * RECEIVERS;
        wait::until("the last delivery", PATIENCE, || {
            Ok((all(&hooks) >= before + count).then_some(()))
        })?;
        let last = hooks.iter().filter_map(|hook| hook.count().1).max();
        let took = last
            .unwrap_or(begun)
            .saturating_duration_since(begun)
            .as_secs_f64();
        self.note(
            format!("deliveries to {RECEIVERS} receivers, {FANNED_OUT} events at once"),
            format!(
                "{:.0} a second",
                float(u64::try_from(count).unwrap_or(0)) / took
            ),
            "≥ 1,500",
        );
        let made = make_users(&server.base_url, &self.key, 30, self.load.seconds, "paced")?;
        let delays = self.delays(&hooks, &made)?;
        server.stop()?;
        self.note_delays(
            &format!("from the answer to a receiver, 300 deliveries a second to {RECEIVERS}"),
            &delays,
            "p99 ≤ 500 ms",
        );
        for endpoint in endpoints {
            self.remove(&endpoint)?;
        }
        Ok(())
    }

    fn note_delays(&mut self, name: &str, delays: &[f64], bar: &'static str) {
        let (p50, p99) = (percentile(delays, 50), percentile(delays, 99));
        self.note(name, format!("p50 {p50:.0} ms, p99 {p99:.0} ms"), bar);
    }

    /// How long each of these users took to arrive at each receiver.
    fn delays(&self, hooks: &[Hook], made: &Made) -> Result<Vec<f64>, Failure> {
        wait::until("the last user", PATIENCE, || {
            let all = hooks
                .iter()
                .all(|hook| made.iter().all(|(user, _)| hook.heard_of(user).is_some()));
            Ok(all.then_some(()))
        })?;
        let of_hook = |hook: &Hook| -> Vec<f64> {
            let heard = made
                .iter()
                .filter_map(|(user, at)| Some((hook.heard_of(user)?, *at)));
            heard.map(|(heard, at)| milliseconds(at, heard)).collect()
        };
        Ok(hooks.iter().flat_map(of_hook).collect())
    }

    /// EV-F1: one that answers, alone and beside a hundred that do not, in six Apps.
    fn beside_the_dead(&mut self) -> Result<(), Failure> {
        let sound = [Hook::sound()?];
        let dead = Hook::dead()?;
        let [one] = &sound;
        let endpoint = self.endpoint(&self.app, &one.url, "user.created")?;
        let server = self.site.serve(0)?;
        let seconds = self.load.seconds;
        let (base_url, key) = (server.base_url.clone(), self.key.clone());
        let paced = |name: &str| make_users(&base_url, &key, 40, seconds, name);
        self.delays(&sound, &make_users(&base_url, &key, 20, 1, "warm")?)?;
        let alone = self.delays(&sound, &paced("alone")?)?;
        let mut apps = vec![(self.app.clone(), key.clone())];
        for number in 0..DEAD {
            if number % OF_AN_APP == 0 && number > 0 {
                apps.push(self.another_app()?);
            }
            let (app, _) = apps.last().ok_or_else(|| Failure::new("no App"))?;
            self.endpoint(app, &format!("{}/{number}", dead.url), "user.created")?;
        }
        for (_, key) in &apps {
            make_users(&base_url, key, 20, 1, "doomed")?;
        }
        let beside = self.delays(&sound, &paced("beside")?)?;
        server.stop()?;
        let (alone, beside) = (percentile(&alone, 99), percentile(&beside, 99));
        self.note(
            format!("a sound endpoint beside {DEAD} that never answer"),
            format!("p99 {beside:.0} ms, alone {alone:.0} ms"),
            "≤ 2 × alone and ≤ 1 s",
        );
        self.remove(&endpoint)?;
        // What waits for the dead ones goes with them.
        for (app, _) in &apps {
            let listed = self.site.admin(&["webhook", "list", app])?;
            let listed = listed
                .get("webhook_endpoints")
                .and_then(Value::as_array)
                .cloned();
            for one in listed.into_iter().flatten() {
                let id = one.get("id").and_then(Value::as_str).unwrap_or_default();
                self.site.admin(&["webhook", "delete", app, id])?;
            }
        }
        Ok(())
    }

    fn another_app(&self) -> Result<(String, String), Failure> {
        let made = self.site.admin(&["app", "create", "Other"])?;
        let app = made.get("id").and_then(Value::as_str).unwrap_or_default();
        let key = self.site.admin(&["key", "create", app, "test"])?;
        let key = key.get("key").and_then(Value::as_str).unwrap_or_default();
        Ok((app.to_owned(), key.to_owned()))
    }

    /// What the service holds, and how long a delivery takes, while very many wait for another endpoint.
    fn beside_many_waiting(&mut self) -> Result<(), Failure> {
        let sound = [Hook::sound()?];
        let dead = Hook::dead()?;
        let [one] = &sound;
        self.endpoint(&self.app, &one.url, "user.created")?;
        let doomed = self.endpoint(&self.app, &dead.url, "wallet.exported")?;
        let seconds = self.load.seconds;
        let measure = |stage: &Self, name: &str| -> Result<(f64, f64), Failure> {
            let server = stage.site.serve(0)?;
            stage.delays(
                &sound,
                &make_users(&server.base_url, &stage.key, 20, 1, &format!("{name}-warm"))?,
            )?;
            let made = make_users(&server.base_url, &stage.key, 40, seconds, name)?;
            let delays = stage.delays(&sound, &made)?;
            let held = resident(server.keeper())?;
            server.stop()?;
            Ok((percentile(&delays, 99), held))
        };
        let (alone, idle) = measure(self, "none-waits")?;
        self.script(&self.world().waiting(&doomed, WAITING))?;
        let (beside, held) = measure(self, "many-wait")?;
        self.note(
            format!("memory, {WAITING} deliveries waiting"),
            format!("{held:.0} MiB, without {idle:.0}"),
            "+ ≤ 30 MB",
        );
        self.note(
            format!("a sound endpoint beside {WAITING} deliveries that wait"),
            format!("p99 {beside:.0} ms, alone {alone:.0} ms"),
            "–",
        );
        self.ask_workers(&doomed)
    }

    /// Measures the service's store operations outside requests, with this many pending deliveries.
    fn ask_workers(&mut self, endpoint: &str) -> Result<(), Failure> {
        let mut command = Command::new(self.programs.join("vestry-bench-load"));
        command
            .arg("workers")
            .args(["--database", &self.site.database_url, "--app", &self.app])
            .args(["--endpoint", endpoint, "--calls", WORKER_CALLS]);
        let printed = process::output(&mut command)?;
        let mut measured = HashMap::new();
        for line in printed.lines() {
            let (name, figures) =
                parse(line).context(format!("not a line of figures: {line:?}"))?;
            measured.insert(name, figures);
        }
        let of = |name: &str| {
            let found = measured.get(name);
            found.ok_or_else(|| Failure::new(format!("the load program did not print {name:?}")))
        };
        let claim = of("claim of webhooks")?;
        let claim = format!("p50 {:.1} ms, p99 {:.1} ms", claim.p50, claim.p99);
        let (with, without) = (
            of("settings changed with its entries")?,
            of("settings changed without")?,
        );
        let added = format!(
            "p50 {:.2} ms, p99 {:.2} ms, without them {:.2} and {:.2}",
            with.p50, with.p99, without.p50, without.p99
        );
        self.note(
            format!("a claim of 32 deliveries of {WAITING} that wait"),
            claim,
            "p99 ≤ 20 ms",
        );
        let name = "a change of an App with the entries of both worlds";
        self.note(name, added, "+ ≤ 2 ms an entry");
        Ok(())
    }
}
