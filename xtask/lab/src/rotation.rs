//! `cargo xtask rotation`: key rotation under many signing wallets, and start-up time with many wallets.

mod signing;
mod start_time;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use signing::{SignatureStats, Signing};
use xtask_harness::arguments::Arguments;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::{Installation, Server, StoreKind, cluster};
use xtask_harness::postgres::Cluster;
use xtask_harness::{process, project, wait};

pub(crate) const ABOUT: &str = "\
Rotate the keys of many wallets while they sign.

Creates wallets of every type through the API, starts the service (twice on Postgres), and has wallets sign at a fixed rate.
Every signature is verified. While they sign, the root key and the App keys are rotated three times each: the first rotation of
App keys is killed halfway and restarted, the last one retires the old keys. Finally every key is opened and the audit log is
verified. The command fails if a signature fails or a wallet does not open (R17).

  --wallets N        wallets on each store (default 100000)
  --per-second N     signatures a second (default 200)
  --store NAME       sqlite or postgres (default: both)
  --start-time       instead, measure the start-up time with 1,000 wallets in Postgres and with many; needs psql
  --many N           the number for \"many\" (default 1000000)
  --dev-profile      build in the dev profile: checks correctness, but the times are not meaningful
  --programs DIR     use `vestry` and `vestry-bench-load` from this directory and build nothing
  --no-install       do not install Postgres";

/// The number of rotations of each kind (R17).
const ROTATIONS: u32 = 3;
/// The duration of signatures at rest, as the reference.
const REST: Duration = Duration::from_secs(20);
/// The time limit of each step.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// The parsed command line.
struct Options {
    wallets: u32,
    per_second: u32,
    stores: Vec<StoreKind>,
    /// Measure the start-up with this many wallets instead.
    many: Option<u32>,
    install: bool,
    programs: Programs,
}

/// The directory of the service and the load generator.
struct Programs {
    directory: PathBuf,
    /// Cargo's arguments; `None` if the programs are already built.
    build: Option<&'static [&'static str]>,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = Options::parse(arguments)?;
    options.programs.build()?;
    if let Some(many) = options.many {
        return start_time::run(&options, many);
    }
    let mut table = String::from(
        "| store | step | seconds | signatures | failed | p50 ms | p99 ms | longest ms |\n|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut failed = 0;
    for kind in &options.stores {
        failed += rotate(*kind, &options, &mut table)?;
    }
    println!("{table}");
    if failed > 0 {
        return Err(Failure::new(format!("{failed} signatures failed")));
    }
    Ok(())
}

/// Runs everything on one store and returns the number of failed signatures.
fn rotate(kind: StoreKind, options: &Options, table: &mut String) -> Result<u64, Failure> {
    let cluster = cluster(kind, options.install)?;
    let installation = Installation::new(
        &options.programs.directory,
        cluster.as_ref().map(Cluster::url),
    )?;
    let key = installation.set_up()?.key;
    // SQLite supports one process only.
    let servers = match kind {
        StoreKind::Sqlite => vec![installation.serve(0)?],
        StoreKind::Postgres => vec![installation.serve(1)?, installation.serve(2)?],
    };
    let list = installation.file("wallets.txt");
    let wallets = fill(options, &key, &servers, &list)?;
    let signing = Signing::start(
        &options.programs.load(),
        &servers,
        &key,
        &list,
        options.per_second,
    )?;
    let mut run = RotationRun {
        store: kind.name(),
        installation: &installation,
        signing,
        table,
        failed: 0,
    };
    run.rest("at rest")?;
    run.roots()?;
    let killed = run.killed(options.wallets)?;
    let resumed = run.app_keys("resumed", &[])?;
    if !(1..u64::from(options.wallets)).contains(&resumed) {
        return Err(Failure::new(format!(
            "the resumed rotation wrapped {resumed} data keys: it was not killed in the middle"
        )));
    }
    println!(
        "{}: {killed}; the next run wrapped the {resumed} left",
        kind.name()
    );
    for rotation in 2..ROTATIONS {
        run.app_keys(&format!("rotation {rotation}"), &[])?;
    }
    let last = format!("rotation {ROTATIONS}, old keys retired");
    run.app_keys(&last, &["--retire"])?;
    run.rest("at rest again")?;
    let failed = run.end()?;
    verify(kind, &installation, wallets)?;
    for server in servers {
        server.stop()?;
    }
    Ok(failed)
}

/// A store that is being rotated, and its part of the table.
struct RotationRun<'a> {
    store: &'static str,
    installation: &'a Installation,
    signing: Signing,
    table: &'a mut String,
    failed: u64,
}

impl RotationRun<'_> {
    /// Adds a table line for the time since the last one.
    fn line(&mut self, step: &str, begun: Instant) -> Result<(), Failure> {
        let stats = self.signing.so_far()?;
        self.put(step, begun, &stats);
        Ok(())
    }

    fn put(&mut self, step: &str, begun: Instant, stats: &SignatureStats) {
        let line = format!(
            "| {} | {step} | {:.1} | {} | {} | {:.2} | {:.2} | {:.0} |",
            self.store,
            begun.elapsed().as_secs_f64(),
            stats.verified,
            stats.failed,
            stats.p50,
            stats.p99,
            stats.longest,
        );
        eprintln!("{line}");
        self.failed += stats.failed;
        self.table.push_str(&line);
        self.table.push('\n');
    }

    fn rest(&mut self, what: &str) -> Result<(), Failure> {
        let begun = Instant::now();
        wait::until(what, PATIENCE, || {
            self.signing.is_alive()?;
            Ok((begun.elapsed() > REST).then_some(()))
        })?;
        self.line(what, begun)
    }

    fn roots(&mut self) -> Result<(), Failure> {
        let begun = Instant::now();
        for _ in 0..ROTATIONS {
            self.installation.admin(&["vault", "rotate-root"])?;
        }
        self.line(&format!("root key, {ROTATIONS} rotations"), begun)
    }

    /// Starts a rotation of App keys, kills it with `kill -9` after a third of the wallets, and returns where that was.
    fn killed(&mut self, wallets: u32) -> Result<String, Failure> {
        let begun = Instant::now();
        let mut rotation = self.installation.rotation()?;
        let (done, of, lines) = wait::until("a third of the rotation", PATIENCE, || {
            rotation.is_running()?;
            let progress = rotation.progress()?;
            Ok(progress.filter(|(done, _, _)| *done >= u64::from(wallets / 3)))
        })?;
        rotation.kill()?;
        self.line("App keys, rotation 1, killed", begun)?;
        Ok(format!(
            "the rotation was killed after {lines} progress reports, the last at {done} of {of} wallets"
        ))
    }

    /// Rotates the App keys, or completes an earlier rotation, and returns the number of rewrapped wallets.
    fn app_keys(&mut self, what: &str, more: &[&str]) -> Result<u64, Failure> {
        let begun = Instant::now();
        let arguments = [&["vault", "rotate-apps"], more].concat();
        let rotated = self.installation.admin(&arguments)?;
        let failed = rotated.get("failed_wallets").and_then(Value::as_array);
        if failed.is_none_or(|wallets| !wallets.is_empty()) {
            return Err(Failure::new(format!("wallets failed: {rotated}")));
        }
        // Retired keys of secrets remain for an hour, and are reported.
        let remaining = rotated.get("kept").and_then(Value::as_array);
        let mut purposes = remaining
            .into_iter()
            .flatten()
            .map(|key| key.get("purpose"));
        if purposes.any(|purpose| purpose.and_then(Value::as_str) == Some("wallets")) {
            return Err(Failure::new(format!(
                "a wallet key was not retired: {rotated}"
            )));
        }
        self.line(&format!("App keys, {what}"), begun)?;
        whole(&rotated, "rewrapped")
    }

    /// Collects the last responses and returns the total number of failed signatures.
    fn end(self) -> Result<u64, Failure> {
        let Self {
            signing,
            mut failed,
            ..
        } = self;
        failed += signing.stop()?.failed;
        Ok(failed)
    }
}

/// Creates the wallets, lists them in a file, and returns their number.
fn fill(options: &Options, key: &str, servers: &[Server], list: &Path) -> Result<u64, Failure> {
    let [first, ..] = servers else {
        return Err(Failure::new("no service is running"));
    };
    let begun = Instant::now();
    let listed = first.make_wallets(&options.programs.load(), key, options.wallets, list)?;
    let wallets = listed.lines().count();
    eprintln!(
        "xtask: {wallets} wallets created in {:.0} s",
        begun.elapsed().as_secs_f64()
    );
    Ok(u64::try_from(wallets).unwrap_or_default())
}

/// Opens every key in a new process, and verifies the chains of the audit log.
fn verify(kind: StoreKind, installation: &Installation, wallets: u64) -> Result<(), Failure> {
    let verified = installation.admin(&["vault", "verify"])?;
    let opened = whole(&verified, "wallets")?;
    let app_keys = whole(&verified, "app_keys")?;
    let audited = installation.admin(&["audit", "verify"])?;
    println!(
        "{}: {opened} of {wallets} wallet keys and {app_keys} App keys open; audit log: {audited}",
        kind.name()
    );
    if opened != wallets {
        return Err(Failure::new("a key is missing"));
    }
    Ok(())
}

fn whole(document: &Value, name: &str) -> Result<u64, Failure> {
    document
        .get(name)
        .and_then(Value::as_u64)
        .ok_or_else(|| Failure::new(format!("no number {name} in {document}")))
}

impl Programs {
    fn build(&self) -> Result<(), Failure> {
        let Some(profile) = self.build else {
            return Ok(());
        };
        let mut build = project::cargo();
        build
            .args(["build", "--quiet"])
            .args(["--package", "vestry-server"])
            .args(["--package", "vestry-bench-load"])
            .args(profile);
        process::run(&mut build)
    }

    fn load(&self) -> PathBuf {
        self.directory.join("vestry-bench-load")
    }
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut arguments = Arguments::new("rotation", arguments);
        let store = arguments.value("--store")?;
        let store = store.as_deref().map(StoreKind::parse).transpose()?;
        let start_time = arguments.flag("--start-time");
        let many = arguments.number("--many")?.unwrap_or(1_000_000);
        let built = |profile: &str, build| Programs {
            directory: project::target().join(profile),
            build: Some(build),
        };
        let programs = match arguments.value("--programs")? {
            Some(directory) => Programs {
                directory: PathBuf::from(directory)
                    .canonicalize()
                    .context("--programs")?,
                build: None,
            },
            None if arguments.flag("--dev-profile") => built("debug", &[project::LIGHT]),
            None => built("release", &["--release"]),
        };
        let options = Self {
            wallets: arguments.number("--wallets")?.unwrap_or(100_000),
            per_second: arguments.number("--per-second")?.unwrap_or(200),
            stores: store.map_or_else(|| StoreKind::BOTH.to_vec(), |store| vec![store]),
            many: start_time.then_some(many),
            install: arguments.install(),
            programs,
        };
        arguments.end()?;
        Ok(options)
    }
}
