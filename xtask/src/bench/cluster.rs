//! `bench --cluster`: what calls take where the same database is distributed over a Citus of a coordinator and two workers, in turn
//! with one Postgres (PR-57). All of it is on one machine, so nothing can be gained: the ratio is what distribution costs.

use std::process::Command;

use super::load::Load;
use super::pairs::{median, ratio};
use super::scene::{COMPARED, Sample, Scene, Whom, each};
use super::seeded::{Copy, Seeded, installed};
use super::usage::Usage;
use super::{Options, course};
use crate::failure::Failure;
use crate::postgres::{Cluster, Durability};
use crate::site::Kind;
use crate::{process, scale};

/// How many servers have Apps.
const WORKERS: usize = 2;

/// Of every server of the cluster.
const CITUS: &[&str] = &[
    "shared_preload_libraries=citus",
    "max_prepared_transactions=400",
];

/// Measures and prints the table.
pub(super) fn run(options: &Options, load: Load, rounds: u32) -> Result<(), Failure> {
    let programs = options.programs();
    let seeded = Seeded::find_or_make(Kind::Postgres, course::USERS, &programs, options.install)?;
    scale::build(&scale::sources(), "citus")?;
    let started = (0..WORKERS).map(|_| {
        installed(options.install)?
            .with(CITUS)
            .start(Durability::Disk)
    });
    let workers: Vec<Cluster> = started.collect::<Result<_, Failure>>()?;
    let copy = seeded.copy_with(Kind::Postgres, &programs, CITUS)?;
    distribute(&copy, &workers)?;
    let mut spread = Scene::on(copy, options, 1)?;
    let mut alone = Scene::set(Kind::Postgres, course::USERS, options)?;
    println!(
        "| operation | one Postgres: per second | cluster: per second | as much work | one: µs service, Postgres | \
         cluster: µs service, coordinator, others |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for (name, operation) in COMPARED {
        let (mut of_one, mut of_many, mut of_workers) = (Vec::new(), Vec::new(), Vec::new());
        // The first of each fills pools and caches, and does not count.
        for round in 0..=rounds {
            let one = alone.sample(Whom::Service, operation, load)?;
            let before = used(&workers)?;
            let many = spread.sample(Whom::Service, operation, load)?;
            let took = used(&workers)? - before;
            if round > 0 {
                of_one.push(one);
                of_many.push(many);
                of_workers.push(took / (many.per_second * f64::from(load.seconds)));
            }
        }
        print(name, &of_one, &of_many, &of_workers);
    }
    alone.strike(0.0)?;
    spread.strike(0.0)?;
    workers.into_iter().try_for_each(Cluster::stop)
}

/// Microseconds of processor that the workers have had.
fn used(workers: &[Cluster]) -> Result<f64, Failure> {
    let mut used = 0.0;
    for worker in workers {
        used += Usage::below(worker.keeper())?
            .since(&Usage::default())
            .microseconds;
    }
    Ok(used)
}

fn print(name: &str, one: &[Sample], many: &[Sample], workers: &[f64]) {
    let rates = |samples| each(samples, |sample| sample.per_second);
    let service = |samples| median(&each(samples, |sample| sample.cost.service));
    let database = |samples| median(&each(samples, |sample| sample.cost.database));
    let times =
        ratio(&rates(one), &rates(many)).map_or_else(String::new, |ratio| ratio.to_string());
    println!(
        "| {name} | {:.0} | {:.0} | {times} | {:.0}, {:.0} | {:.0}, {:.0}, {:.0} |",
        median(&rates(one)),
        median(&rates(many)),
        service(one),
        database(one),
        service(many),
        database(many),
        median(workers),
    );
}

/// Makes the copy the coordinator of the workers, and distributes its data.
fn distribute(copy: &Copy, workers: &[Cluster]) -> Result<(), Failure> {
    let cluster = copy.cluster.as_ref();
    let coordinator = cluster.ok_or_else(|| Failure::new("there is no Postgres"))?;
    let mut statements = vec![
        "CREATE EXTENSION citus".to_owned(),
        format!(
            "SELECT citus_set_coordinator_host('127.0.0.1', {})",
            coordinator.port()
        ),
    ];
    for worker in workers {
        ask(worker, "CREATE EXTENSION citus")?;
        let port = worker.port();
        statements.push(format!("SELECT citus_add_node('127.0.0.1', {port})"));
    }
    for statement in &statements {
        ask(coordinator, statement)?;
    }
    copy.site.run_admin(&["migrate", "--distribute"])
}

fn ask(cluster: &Cluster, statement: &str) -> Result<(), Failure> {
    let mut psql = Command::new("psql");
    psql.args(["-q", "-v", "ON_ERROR_STOP=1", "-c", statement]);
    process::run_quietly(psql.arg(cluster.url()))
}
