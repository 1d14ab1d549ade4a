//! `bench --signing`: signatures of wallets drawn from many and from few, with audit log and request log as in production.
//!
//! In a service with many users, nearly every signature is by a wallet that no cache holds. Judge changes by the rows of the many.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::{Installation, StoreKind, cluster};
use xtask_harness::postgres::Cluster;

use crate::Options;
use crate::baseline::raw;
use crate::load::{self, Load, Measured};
use crate::seeded::{HOT, from_all_over};
use crate::table::{Row, Table};

/// Seconds of load before each measurement, which fill pools and caches.
const WARM_UP: u32 = 2;

/// The draws, by the list in `load.lua` and the number of its wallets.
const DRAWS: [(&str, &str); 2] = [("few", "64"), ("many", "all")];

/// Measures the stores and prints one table.
pub(crate) fn run(options: &Options, wallets: u32) -> Result<(), Failure> {
    let (programs, load) = (options.programs(), options.load(10));
    let mut table = Table::new();
    for scheme in ["secp256k1", "ed25519", "sr25519"] {
        let rate = raw(&programs, &["sign", "--scheme", scheme], load)?;
        let name = format!("raw signing loop, {scheme}, 2 threads");
        table.push(Row::raw(&name, rate));
    }
    for kind in &options.stores {
        measure(*kind, options, load, wallets, &mut table)?;
    }
    println!("{table}");
    Ok(())
}

fn measure(
    kind: StoreKind,
    options: &Options,
    load: Load,
    wallets: u32,
    table: &mut Table,
) -> Result<(), Failure> {
    let programs = options.programs();
    let cluster = cluster(kind, options.install)?;
    let mut installation = Installation::new(&programs, cluster.as_ref().map(Cluster::url))?;
    let data = fill(&installation, &programs, wallets)?;
    installation.log_requests();
    let mut builds = vec![("this build", programs)];
    builds.extend(
        options
            .against
            .clone()
            .map(|other| ("the other build", other)),
    );
    let mut measured = vec![[const { Vec::new() }; DRAWS.len()]; builds.len()];
    for _ in 0..options.rounds {
        for ((_, programs), of_build) in builds.iter().zip(&mut measured) {
            installation.run_from(programs);
            let server = installation.serve(0)?;
            for ((draw, _), rounds) in DRAWS.iter().zip(of_build) {
                let operation = format!("sign_drawn.{draw}");
                let warm_up = Load {
                    seconds: WARM_UP,
                    ..load
                };
                load::run(&server.base_url, &operation, &data, warm_up)?;
                rounds.push(load::run(&server.base_url, &operation, &data, load)?);
            }
            server.stop()?;
        }
    }
    for (draw, (_, named)) in DRAWS.iter().enumerate() {
        let mut first = None;
        for ((build, _), of_build) in builds.iter().zip(&measured) {
            let median = Measured::median(of_build.get(draw).map_or(&[][..], Vec::as_slice));
            let operation = format!("sign_message, {named} wallets, {build}");
            let row = Row::measured(kind.name(), &operation, median);
            table.push(match first {
                None => row,
                Some(rate) => row.against("this build", rate),
            });
            first = first.or(Some(median.per_second));
        }
    }
    Ok(())
}

/// Creates an App with this many wallets of all types, and returns the file for wrk's script.
fn fill(installation: &Installation, programs: &Path, wallets: u32) -> Result<PathBuf, Failure> {
    let key = installation.set_up()?.key;
    let server = installation.serve(0)?;
    let load = programs.join("vestry-bench-load");
    let listed = server.make_wallets(&load, &key, wallets, &installation.file("wallets.txt"))?;
    server.stop()?;
    let mut data = format!("key={key}\n");
    for (list, lines) in [("many", &listed), ("few", &from_all_over(&listed, HOT))] {
        for line in lines.lines() {
            let id = line.split('\t').next().unwrap_or_default();
            writeln!(data, "wallet.{list}={id}").context("cannot write to a string")?;
        }
    }
    let file = installation.file("load.txt");
    fs::write(&file, data).context("cannot write the data of the load script")?;
    Ok(file)
}
