//! `cargo xtask rotation`: key rotation under many signing wallets, and start-up time with many wallets.

mod signing;
mod start_time;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::number;
use crate::failure::{Context, Failure};
use crate::postgres::Cluster;
use crate::site::{Kind, Server, Site, cluster};
use crate::{process, project, wait};
use signing::{Answered, Signing};

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

/// Rotations of each kind: the number for each change (R17).
const ROTATIONS: u32 = 3;
/// How long signatures run at rest, as the reference.
const REST: Duration = Duration::from_secs(20);
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// What the command line asks for.
struct Options {
    wallets: u32,
    per_second: u32,
    stores: Vec<Kind>,
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
    let options = options(arguments)?;
    options.programs.build()?;
    if let Some(many) = options.many {
        return start_time::run(&options, many);
    }
    let mut table = String::from(
        "| store | what happened | seconds | signatures | failed | p50 ms | p99 ms | longest ms |\n|---|---|---:|---:|---:|---:|---:|---:|\n",
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
fn rotate(kind: Kind, options: &Options, table: &mut String) -> Result<u64, Failure> {
    let cluster = cluster(kind, options.install)?;
    let site = Site::new(
        &options.programs.directory,
        cluster.as_ref().map(Cluster::url),
    )?;
    let key = site.set_up()?;
    // SQLite supports one process only.
    let servers = match kind {
        Kind::Sqlite => vec![site.serve(0)?],
        Kind::Postgres => vec![site.serve(1)?, site.serve(2)?],
    };
    let list = fill(&site, options, &key, &servers)?;
    let signing = Signing::start(
        &options.programs.load(),
        &servers,
        &key,
        &list,
        options.per_second,
    )?;
    let mut course = Course {
        store: kind.name(),
        site: &site,
        signing,
        table,
        failed: 0,
    };
    course.rest("at rest")?;
    course.roots()?;
    let cut = course.killed(options.wallets)?;
    let resumed = course.app_keys("resumed", &[])?;
    if !(1..u64::from(options.wallets)).contains(&resumed) {
        return Err(Failure::new(format!(
            "the resumed rotation wrapped {resumed} data keys: it was not cut off in the middle"
        )));
    }
    println!(
        "{}: {cut}; the next run wrapped the {resumed} left",
        kind.name()
    );
    for rotation in 2..ROTATIONS {
        course.app_keys(&format!("rotation {rotation}"), &[])?;
    }
    let last = format!("rotation {ROTATIONS}, old keys retired");
    course.app_keys(&last, &["--retire"])?;
    course.rest("at rest again")?;
    let failed = course.end()?;
    verify(kind, &site, &list)?;
    for server in servers {
        server.stop()?;
    }
    Ok(failed)
}

/// A store that is being rotated, and its part of the table.
struct Course<'a> {
    store: &'static str,
    site: &'a Site,
    signing: Signing,
    table: &'a mut String,
    failed: u64,
}

impl Course<'_> {
    /// Adds a table line for the time since the last one.
    fn line(&mut self, what: &str, begun: Instant) -> Result<(), Failure> {
        let answered = self.signing.so_far()?;
        self.put(what, begun, &answered);
        Ok(())
    }

    fn put(&mut self, what: &str, begun: Instant, answered: &Answered) {
        let line = format!(
            "| {} | {what} | {:.1} | {} | {} | {:.2} | {:.2} | {:.0} |",
            self.store,
            begun.elapsed().as_secs_f64(),
            answered.right,
            answered.failed,
            answered.p50,
            answered.p99,
            answered.longest,
        );
        eprintln!("{line}");
        self.failed += answered.failed;
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
            self.site.admin(&["vault", "rotate-root"])?;
        }
        self.line(&format!("root key, {ROTATIONS} rotations"), begun)
    }

    /// Starts a rotation of App keys, kills it with `kill -9` after a third of the wallets, and returns where that was.
    fn killed(&mut self, wallets: u32) -> Result<String, Failure> {
        let begun = Instant::now();
        let mut rotation = self.site.rotation()?;
        let (done, of, lines) = wait::until("a third of the rotation", PATIENCE, || {
            rotation.is_running()?;
            let progress = rotation.progress()?;
            Ok(progress.filter(|(done, _, _)| *done >= u64::from(wallets / 3)))
        })?;
        rotation.kill()?;
        self.line("App keys, rotation 1, killed", begun)?;
        Ok(format!(
            "the rotation was killed after {lines} lines of progress, the last at {done} of {of} wallets"
        ))
    }

    /// Rotates the App keys, or completes an earlier rotation, and returns the number of rewrapped wallets.
    fn app_keys(&mut self, what: &str, more: &[&str]) -> Result<u64, Failure> {
        let begun = Instant::now();
        let arguments = [&["vault", "rotate-apps"], more].concat();
        let rotated = self.site.admin(&arguments)?;
        let failed = rotated.get("failed_wallets").and_then(Value::as_array);
        if failed.is_none_or(|wallets| !wallets.is_empty()) {
            return Err(Failure::new(format!("wallets failed: {rotated}")));
        }
        // Retired keys of secrets are kept for an hour, and reported.
        let kept = rotated.get("kept").and_then(Value::as_array);
        let mut purposes = kept.into_iter().flatten().map(|key| key.get("purpose"));
        if purposes.any(|purpose| purpose.and_then(Value::as_str) == Some("wallets")) {
            return Err(Failure::new(format!(
                "a key of wallets was kept: {rotated}"
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

/// Creates the wallets and returns the file that lists them.
fn fill(site: &Site, options: &Options, key: &str, servers: &[Server]) -> Result<PathBuf, Failure> {
    let [first, ..] = servers else {
        return Err(Failure::new("no service is running"));
    };
    let begun = Instant::now();
    let list = site.file("wallets.txt");
    first.make_wallets(&options.programs.load(), key, options.wallets, &list)?;
    eprintln!(
        "xtask: {} wallets made in {:.0} s",
        options.wallets,
        begun.elapsed().as_secs_f64()
    );
    Ok(list)
}

/// Opens every key in a fresh process, and verifies the chains of the audit log.
fn verify(kind: Kind, site: &Site, list: &Path) -> Result<(), Failure> {
    let wallets = fs::read_to_string(list).context("cannot read the list of wallets")?;
    let wallets = u64::try_from(wallets.lines().count()).unwrap_or_default();
    let verified = site.admin(&["vault", "verify"])?;
    let opened = whole(&verified, "wallets")?;
    let app_keys = whole(&verified, "app_keys")?;
    let audited = site.admin(&["audit", "verify"])?;
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

fn options(arguments: &[String]) -> Result<Options, Failure> {
    let built = |profile: &str, build| Programs {
        directory: project::target().join(profile),
        build: Some(build),
    };
    let mut options = Options {
        wallets: 100_000,
        per_second: 200,
        stores: vec![Kind::Sqlite, Kind::Postgres],
        many: None,
        install: true,
        programs: built("release", &["--release"]),
    };
    let (mut start_time, mut many) = (false, 1_000_000);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || {
            rest.next()
                .ok_or_else(|| Failure::Usage(format!("{argument} needs a value")))
        };
        match argument.as_str() {
            "--wallets" => options.wallets = number(argument, value()?)?,
            "--per-second" => options.per_second = number(argument, value()?)?,
            "--store" => options.stores = vec![Kind::parse(value()?)?],
            "--start-time" => start_time = true,
            "--many" => many = number(argument, value()?)?,
            "--dev-profile" => options.programs = built("debug", &[project::LIGHT]),
            "--programs" => {
                let directory = PathBuf::from(value()?);
                let directory = directory.canonicalize().context("--programs")?;
                options.programs = Programs {
                    directory,
                    build: None,
                };
            }
            "--no-install" => options.install = false,
            other => return Err(Failure::Usage(format!("rotation does not know {other}"))),
        }
    }
    options.many = start_time.then_some(many);
    Ok(options)
}
