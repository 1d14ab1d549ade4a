//! `bench --events`: the figures of events and webhooks (events.md, section 6).
//!
//! Everything is measured on a new App with few users. The subject is the cost of events in addition to the changes that emit them, not
//! the effect of a large database.

mod delays;
pub(crate) mod hooks;
pub(crate) mod rows;

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::{App, Installation, Server, StoreKind, cluster, text};
use xtask_harness::postgres::Cluster;
use xtask_harness::{database, process, wait};

use crate::Options;
use crate::flows::parse;
use crate::http::Connection;
use crate::load::{self, Draw, Load};
use crate::paired_stats::{median, milliseconds, percentile, ratio};
use crate::usage::{float, resident};
use delays::{Made, make_users};
use hooks::Hook;
use rows::World;

/// The number of wallets that sign.
const WALLETS: u32 = 320;
/// The number of endpoints for the fan-out.
const RECEIVERS: usize = 10;
/// The number of events that are fanned out at once.
const FANNED_OUT: u32 = 2_000;
/// The number of endpoints that never respond, and the number of them in each App.
const DEAD: usize = 100;
const OF_AN_APP: usize = 19;
/// The number of pending deliveries.
const PENDING: u32 = 100_000;
/// The repetitions of each store operation outside requests.
const WORKER_CALLS: &str = "1000";
/// The time limit of each step.
const PATIENCE: Duration = Duration::from_secs(300);

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

/// Measures the stores and prints one table.
pub(crate) fn run(options: &Options, log: u32) -> Result<(), Failure> {
    let mut figures = Vec::new();
    for kind in &options.stores {
        let mut bench = EventBench::start(*kind, options, log)?;
        bench.compare_builds()?;
        bench.compare_signatures()?;
        bench.sequence()?;
        bench.see_changes()?;
        bench.read()?;
        bench.fan_out()?;
        bench.isolate_from_dead_endpoints()?;
        bench.isolate_from_pending_deliveries()?;
        figures.append(&mut bench.figures);
    }
    println!("| store | figure | measured | bar |\n|---|---|---:|---:|");
    for figure in figures {
        println!("{figure}");
    }
    Ok(())
}

/// A store under measurement.
struct EventBench<'a> {
    kind: StoreKind,
    options: &'a Options,
    programs: PathBuf,
    load: Load,
    /// The number of events in the log that is read.
    log: u32,
    installation: Installation,
    app: App,
    figures: Vec<Figure>,
    /// The number of draws so far.
    draws: u32,
    _cluster: Option<Cluster>,
}

impl<'a> EventBench<'a> {
    fn start(kind: StoreKind, options: &'a Options, log: u32) -> Result<Self, Failure> {
        let programs = options.programs();
        let cluster = cluster(kind, options.install)?;
        let mut installation = Installation::new(&programs, cluster.as_ref().map(Cluster::url))?;
        installation.log_requests();
        installation.set("VESTRY_OUTBOUND__ALLOWED_NETWORKS", "127.0.0.0/8");
        Ok(Self {
            kind,
            options,
            programs,
            load: options.load(5),
            log,
            app: installation.set_up()?,
            installation,
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
            app: &self.app.id,
        }
    }

    fn script(&self, text: &str) -> Result<(), Failure> {
        database::run_script(&self.installation.database_url, text)
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
            key: &self.app.key,
            list: &self.installation.file(list),
            number: self.draws,
        };
        Ok(load::draw(&server.base_url, draw, self.load)?.measured)
    }

    /// Creates users and codes with and without events, if a build without events is given.
    fn compare_builds(&mut self) -> Result<(), Failure> {
        let Some(without) = self.options.against.clone() else {
            return Ok(());
        };
        fs::write(self.installation.file("nothing.txt"), "-\n").context("cannot write a list")?;
        for (operation, name) in [
            ("user_create", "user create, with events to without"),
            ("code", "code send + verify, with events to without"),
        ] {
            let (mut with_events, mut without_events) = (Vec::new(), Vec::new());
            for _ in 0..self.options.rounds {
                for (programs, rates) in [
                    (self.programs.clone(), &mut with_events),
                    (without.clone(), &mut without_events),
                ] {
                    self.installation.run_from(&programs);
                    let server = self.installation.serve(0)?;
                    // The first run fills pools and caches.
                    self.draw(&server, operation, "nothing.txt")?;
                    rates.push(self.draw(&server, operation, "nothing.txt")?.per_second);
                    server.stop()?;
                }
            }
            self.note_ratio(name, &with_events, &without_events, "≥ 0.95");
        }
        self.installation.run_from(&self.programs.clone());
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

    /// Signatures that emit events, and signatures that do not.
    fn compare_signatures(&mut self) -> Result<(), Failure> {
        let server = self.installation.serve(0)?;
        let wallets = self.installation.file("wallets.tsv");
        let load = self.programs.join("vestry-bench-load");
        let listed = server.make_wallets(&load, &self.app.key, WALLETS, &wallets)?;
        let ids = listed.lines().filter_map(|line| line.split('\t').next());
        let ids: Vec<_> = ids.collect();
        fs::write(self.installation.file("wallets.txt"), ids.join("\n") + "\n")
            .context("cannot write the list of wallets")?;
        let (mut with_events, mut without_events) = (Vec::new(), Vec::new());
        for _ in 0..self.options.rounds {
            for (events, rates) in [
                ("events_optional=[\"wallet.signed\"]", &mut with_events),
                ("events_optional=[]", &mut without_events),
            ] {
                self.installation
                    .admin(&["app", "set", &self.app.id, events])?;
                rates.push(
                    self.draw(&server, "sign_message", "wallets.txt")?
                        .per_second,
                );
            }
        }
        server.stop()?;
        self.note_ratio(
            "sign_message, with wallet.signed to without",
            &with_events,
            &without_events,
            "≥ 0.90",
        );
        Ok(())
    }

    /// The position of the newest event.
    fn newest(connection: &mut Connection) -> Result<u64, Failure> {
        let head = connection.get("/v1/events/head")?;
        Ok(head
            .pointer("/newest/position")
            .and_then(Value::as_u64)
            .unwrap_or(0))
    }

    /// Sixteen writers insert events as fast as they can, until all have positions. On SQLite there is one, because others would only wait.
    fn sequence(&mut self) -> Result<(), Failure> {
        let server = self.installation.serve(0)?;
        let mut connection = Connection::open(&server.base_url, &self.app.key)?;
        let before = Self::newest(&mut connection)?;
        let writers: u32 = match self.kind {
            StoreKind::Postgres => 16,
            StoreKind::Sqlite => 1,
        };
        let of_one = self.log.min(160_000) / writers;
        let inserts = |writer: u32| self.world().inbox(&format!("w{writer:02}"), of_one);
        let scripts: Vec<String> = (0..writers).map(inserts).collect();
        let begun = Instant::now();
        let running = scripts.into_iter().map(|script| {
            let url = self.installation.database_url.clone();
            std::thread::spawn(move || database::run_script(&url, &script))
        });
        for writer in running.collect::<Vec<_>>() {
            let ended = writer.join();
            ended.map_err(|_panic| Failure::new("a writer panicked"))??;
        }
        let written = begun.elapsed();
        let all = before + u64::from(writers * of_one);
        wait::until("the last position", PATIENCE, || {
            let newest = Self::newest(&mut connection)?;
            Ok((newest >= all).then_some(()))
        })?;
        let sequenced = begun.elapsed();
        server.stop()?;
        let per_second = float(u64::from(writers * of_one)) / sequenced.as_secs_f64();
        self.note(
            format!("events sequenced, {writers} writers"),
            format!(
                "{per_second:.0} a second (written in {:.1} s, sequenced in {:.1})",
                written.as_secs_f64(),
                sequenced.as_secs_f64()
            ),
            match self.kind {
                StoreKind::Postgres => "≥ 5,000",
                StoreKind::Sqlite => "–",
            },
        );
        Ok(())
    }

    /// A reader waits at the end of the log while 333 users per second are created, with three events each.
    fn see_changes(&mut self) -> Result<(), Failure> {
        let per_second = match self.kind {
            StoreKind::Postgres => 333,
            StoreKind::Sqlite => 100,
        };
        let server = self.installation.serve(0)?;
        let mut connection = Connection::open(&server.base_url, &self.app.key)?;
        let head = connection.get("/v1/events/head")?;
        let newest = head.pointer("/newest/id").and_then(Value::as_str);
        let mut after = newest.unwrap_or_default().to_owned();
        let (base_url, key, seconds) = (
            server.base_url.clone(),
            self.app.key.clone(),
            self.load.seconds,
        );
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
        let made = made.ok_or_else(|| Failure::new("the clients did not finish"))?;
        server.stop()?;
        let delays = made.iter().map(|(user, at)| {
            let seen = seen.get(user);
            let seen = seen.ok_or_else(|| Failure::new("an event was not seen"))?;
            Ok(milliseconds(seen.saturating_duration_since(*at)))
        });
        let delays: Vec<f64> = delays.collect::<Result<_, Failure>>()?;
        self.note(
            format!("from the response to a waiting reader, {per_second} users a second"),
            format!(
                "p50 {:.0} ms, p99 {:.0} ms",
                percentile(&delays, 50),
                percentile(&delays, 99)
            ),
            "p99 ≤ 250 ms",
        );
        Ok(())
    }

    /// Reads pages of a thousand events from the whole log.
    fn read(&mut self) -> Result<(), Failure> {
        let server = self.installation.serve(0)?;
        let mut connection = Connection::open(&server.base_url, &self.app.key)?;
        let known = Self::newest(&mut connection)?;
        server.stop()?;
        let wanted = u64::from(self.log);
        if known < wanted {
            self.script(&self.world().log(known, wanted))?;
        }
        let list = self.installation.file("events.txt");
        let ids = database::query(&self.installation.database_url, &self.world().sample())?;
        fs::write(&list, ids).context("cannot write a list")?;
        let server = self.installation.serve(0)?;
        let load = Load {
            connections: 2,
            ..self.load
        };
        let usual = std::mem::replace(&mut self.load, load);
        let pages = self.draw(&server, "events_page", "events.txt")?;
        self.load = usual;
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
        let create = ["webhook", "create", app, "test", url, "--types", types];
        text(&self.installation.admin(&create)?, "/id")
    }

    fn remove(&self, endpoint: &str) -> Result<(), Failure> {
        let delete = ["webhook", "delete", &self.app.id, endpoint];
        self.installation.admin(&delete).map(drop)
    }

    /// Fans out many events at once to ten endpoints, then those of users created at a steady rate.
    fn fan_out(&mut self) -> Result<(), Failure> {
        let hooks: Vec<Hook> = (0..RECEIVERS)
            .map(|_| Hook::working())
            .collect::<Result<_, _>>()?;
        let mut endpoints = Vec::new();
        for hook in &hooks {
            endpoints.push(self.endpoint(&self.app.id, &hook.url, "user.created")?);
        }
        let server = self.installation.serve(0)?;
        // The first delivery shows that an endpoint responds.
        let made = make_users(&server.base_url, &self.app.key, 20, 1, "first")?;
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
        let made = make_users(
            &server.base_url,
            &self.app.key,
            30,
            self.load.seconds,
            "paced",
        )?;
        let delays = self.delays(&hooks, &made)?;
        server.stop()?;
        self.note_delays(
            &format!("from the response to a receiver, 300 deliveries a second to {RECEIVERS}"),
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

    /// The delay of the event of each of these users at each endpoint.
    fn delays(&self, hooks: &[Hook], made: &Made) -> Result<Vec<f64>, Failure> {
        wait::until("the last user", PATIENCE, || {
            let all = hooks
                .iter()
                .all(|hook| made.iter().all(|(user, _)| hook.received(user).is_some()));
            Ok(all.then_some(()))
        })?;
        let of_hook = |hook: &Hook| -> Vec<f64> {
            let received = made
                .iter()
                .filter_map(|(user, at)| Some((hook.received(user)?, *at)));
            received
                .map(|(received, at)| milliseconds(received.saturating_duration_since(at)))
                .collect()
        };
        Ok(hooks.iter().flat_map(of_hook).collect())
    }

    /// EV-F1: a working endpoint, alone and with a hundred dead ones in six Apps.
    fn isolate_from_dead_endpoints(&mut self) -> Result<(), Failure> {
        let working = [Hook::working()?];
        let dead = Hook::dead()?;
        let [one] = &working;
        let endpoint = self.endpoint(&self.app.id, &one.url, "user.created")?;
        let server = self.installation.serve(0)?;
        let seconds = self.load.seconds;
        let (base_url, key) = (server.base_url.clone(), self.app.key.clone());
        let paced = |name: &str| make_users(&base_url, &key, 40, seconds, name);
        self.delays(&working, &make_users(&base_url, &key, 20, 1, "warm")?)?;
        let alone = self.delays(&working, &paced("alone")?)?;
        let mut others: Vec<App> = Vec::new();
        for number in 0..DEAD {
            if number % OF_AN_APP == 0 && number > 0 {
                others.push(self.installation.create_app("Other")?);
            }
            let app = others.last().unwrap_or(&self.app);
            let url = format!("{}/{number}", dead.url);
            self.endpoint(&app.id, &url, "user.created")?;
        }
        for app in others.iter().chain([&self.app]) {
            make_users(&base_url, &app.key, 20, 1, "doomed")?;
        }
        let beside = self.delays(&working, &paced("beside")?)?;
        server.stop()?;
        let (alone, beside) = (percentile(&alone, 99), percentile(&beside, 99));
        self.note(
            format!("a working endpoint with {DEAD} that never respond"),
            format!("p99 {beside:.0} ms, alone {alone:.0} ms"),
            "≤ 2 × alone and ≤ 1 s",
        );
        self.remove(&endpoint)?;
        // Deleting the dead endpoints deletes their pending deliveries.
        for app in others.iter().chain([&self.app]) {
            let listed = self.installation.admin(&["webhook", "list", &app.id])?;
            let listed = listed.get("webhook_endpoints").and_then(Value::as_array);
            for endpoint in listed.into_iter().flatten() {
                let id = text(endpoint, "/id")?;
                self.installation
                    .admin(&["webhook", "delete", &app.id, &id])?;
            }
        }
        Ok(())
    }

    /// Memory and delivery delay with very many pending deliveries to another endpoint.
    fn isolate_from_pending_deliveries(&mut self) -> Result<(), Failure> {
        let working = [Hook::working()?];
        let dead = Hook::dead()?;
        let [one] = &working;
        self.endpoint(&self.app.id, &one.url, "user.created")?;
        let doomed = self.endpoint(&self.app.id, &dead.url, "wallet.exported")?;
        let seconds = self.load.seconds;
        let measure = |bench: &Self, name: &str| -> Result<(f64, f64), Failure> {
            let server = bench.installation.serve(0)?;
            bench.delays(
                &working,
                &make_users(
                    &server.base_url,
                    &bench.app.key,
                    20,
                    1,
                    &format!("{name}-warm"),
                )?,
            )?;
            let made = make_users(&server.base_url, &bench.app.key, 40, seconds, name)?;
            let delays = bench.delays(&working, &made)?;
            let held = resident(server.process_id())?;
            server.stop()?;
            Ok((percentile(&delays, 99), held))
        };
        let (alone, idle) = measure(self, "none-pending")?;
        self.script(&self.world().pending(&doomed, PENDING))?;
        let (beside, held) = measure(self, "many-pending")?;
        self.note(
            format!("memory, {PENDING} pending deliveries"),
            format!("{held:.0} MiB, without {idle:.0}"),
            "+ ≤ 30 MB",
        );
        self.note(
            format!("a working endpoint with {PENDING} pending deliveries"),
            format!("p99 {beside:.0} ms, alone {alone:.0} ms"),
            "–",
        );
        self.measure_workers(&doomed)
    }

    /// Measures the service's store operations outside requests, with this many pending deliveries.
    fn measure_workers(&mut self, endpoint: &str) -> Result<(), Failure> {
        let mut command = self.options.load_program("workers");
        command
            .args(["--database", &self.installation.database_url])
            .args(["--app", &self.app.id, "--endpoint", endpoint])
            .args(["--calls", WORKER_CALLS]);
        let printed = process::output(&mut command)?;
        let measured: HashMap<_, _> = printed.lines().map(parse).collect::<Result<_, _>>()?;
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
            format!("a claim of 32 of {PENDING} pending deliveries"),
            claim,
            "p99 ≤ 20 ms",
        );
        let name = "a change of an App with audit entries in both environments";
        self.note(name, added, "+ ≤ 2 ms an entry");
        Ok(())
    }
}
