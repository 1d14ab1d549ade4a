//! `bench --signing`: signatures of wallets that are drawn from many, and from few, with the log as in production.
//!
//! A service that has many users meets a wallet it has not seen for long with nearly every signature, and what it remembers of
//! wallets is of no use to it. So whatever is to make signatures quicker is judged by the rows of the many.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::Options;
use super::baseline::raw;
use super::load::{self, Load, Measured};
use super::table::{Row, Table};
use crate::failure::{Context, Failure};
use crate::site::{Kind, Site, cluster};

/// How many the few are: fewer than any cache holds.
const FEW: usize = 64;
/// Seconds of load before each measurement, in which pools and caches fill.
const WARM_UP: u32 = 2;

/// The extent of the comparison.
pub(super) struct Comparison {
    /// How many the many are.
    pub(super) wallets: u32,
    /// Programs of another build, which run in turn with those of this one on the same database.
    pub(super) against: Option<PathBuf>,
    /// How often each is measured; the table has the means.
    pub(super) rounds: u32,
}

/// The draws, as `load.lua` calls the lists of wallets.
const DRAWS: [(&str, &str); 2] = [("few", "64"), ("many", "all")];

/// Measures the stores and prints one table.
pub(super) fn run(options: &Options, load: Load, comparison: &Comparison) -> Result<(), Failure> {
    let programs = options.programs();
    let mut table = Table::new();
    for scheme in ["secp256k1", "ed25519", "sr25519"] {
        let rate = raw(&programs, &["sign", "--scheme", scheme], load)?;
        table.push(Row::raw(
            &format!("raw signing loop, {scheme}, 2 threads"),
            rate,
        ));
    }
    for kind in &options.stores {
        measure(*kind, options, load, comparison, &mut table)?;
    }
    println!("{table}");
    Ok(())
}

fn measure(
    kind: Kind,
    options: &Options,
    load: Load,
    comparison: &Comparison,
    table: &mut Table,
) -> Result<(), Failure> {
    let programs = options.programs();
    let cluster = cluster(kind, options.install)?;
    let mut site = Site::new(&programs, cluster.as_ref().map(|cluster| cluster.url()))?;
    let data = fill(&site, &programs, comparison.wallets)?;
    site.log_requests();
    let mut builds = vec![("this build", programs)];
    builds.extend(
        comparison
            .against
            .clone()
            .map(|other| ("the other build", other)),
    );
    let mut measured = vec![[Mean::default(); DRAWS.len()]; builds.len()];
    for _ in 0..comparison.rounds {
        for ((_, programs), means) in builds.iter().zip(&mut measured) {
            site.run_from(programs);
            let server = site.serve(0)?;
            for ((draw, _), mean) in DRAWS.iter().zip(means) {
                let operation = format!("sign_drawn.{draw}");
                let warm_up = Load {
                    seconds: WARM_UP,
                    ..load
                };
                load::run(&server.base_url, &operation, &data, warm_up)?;
                mean.add(load::run(&server.base_url, &operation, &data, load)?);
            }
            server.stop()?;
        }
    }
    for (draw, (_, named)) in DRAWS.iter().enumerate() {
        let mut first = None;
        for ((build, _), means) in builds.iter().zip(&measured) {
            let Some(mean) = means.get(draw).map(Mean::of) else {
                continue;
            };
            let operation = format!("sign_message, {named} wallets, {build}");
            let row = Row::measured(kind.name(), &operation, mean);
            table.push(match first {
                None => row,
                Some(rate) => row.against("this build", rate),
            });
            first = first.or(Some(mean.per_second));
        }
    }
    Ok(())
}

/// Creates an App with this many wallets of all types, and returns the file for wrk's script.
fn fill(site: &Site, programs: &Path, wallets: u32) -> Result<PathBuf, Failure> {
    let key = site.set_up()?;
    let server = site.serve(0)?;
    let list = site.file("wallets.txt");
    server.make_wallets(&programs.join("vestry-bench-load"), &key, wallets, &list)?;
    server.stop()?;
    let listed = fs::read_to_string(&list).context("cannot read the list of wallets")?;
    let apart = (listed.lines().count() / FEW).max(1);
    let mut data = format!("key={key}\n");
    for (number, line) in listed.lines().enumerate() {
        let id = line.split('\t').next().unwrap_or_default();
        writeln!(data, "wallet.many={id}").context("cannot write to a string")?;
        // All over the list, so that they are of all types and lie on pages of their own.
        if number % apart == 0 {
            writeln!(data, "wallet.few={id}").context("cannot write to a string")?;
        }
    }
    let file = site.file("load.txt");
    fs::write(&file, data).context("cannot write the data of the load script")?;
    Ok(file)
}

/// Measurements that are taken together.
#[derive(Clone, Copy, Default)]
struct Mean {
    count: f64,
    per_second: f64,
    p50: f64,
    p99: f64,
}

impl Mean {
    fn add(&mut self, measured: Measured) {
        self.count += 1.0;
        self.per_second += measured.per_second;
        self.p50 += measured.p50;
        self.p99 += measured.p99;
    }

    fn of(&self) -> Measured {
        Measured {
            per_second: self.per_second / self.count,
            p50: self.p50 / self.count,
            p99: self.p99 / self.count,
        }
    }
}
