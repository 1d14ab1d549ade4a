//! `bench --cluster`: a database distributed over a Citus of a coordinator and two workers, in alternation with one Postgres (PR-57).
//!
//! Everything runs on one machine, so nothing can be gained. The ratio is the cost of distribution.

use xtask_harness::failure::Failure;
use xtask_harness::installation::StoreKind;
use xtask_harness::postgres::{Cluster, Durability, Postgres};
use xtask_harness::{database, source_builds};

use crate::bench_env::{BenchEnv, COMPARED, Sample, Target, each};
use crate::paired_stats::{median, shown_ratio};
use crate::seeded::{Copy, Seeded};
use crate::usage::Usage;
use crate::{Options, suite};

/// The number of servers that hold the data of Apps.
const WORKERS: usize = 2;

/// Settings of every server of the cluster.
const CITUS: &[&str] = &[
    "shared_preload_libraries=citus",
    "max_prepared_transactions=400",
];

/// Measures and prints the table.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let load = options.load(5);
    let programs = options.programs();
    let kind = StoreKind::Postgres;
    let seeded = Seeded::find_or_make(kind, suite::USERS, &programs, options.install)?;
    source_builds::build(&source_builds::sources(), "citus")?;
    let postgres = Postgres::require(options.install)?.with(CITUS);
    let started = (0..WORKERS).map(|_| postgres.start(Durability::Disk));
    let workers: Vec<Cluster> = started.collect::<Result<_, Failure>>()?;
    let copy = seeded.copy_with(kind, &programs, CITUS)?;
    distribute(&copy, &workers)?;
    let mut distributed = BenchEnv::start_on(copy, options, 1)?;
    let mut single = BenchEnv::start(kind, suite::USERS, options)?;
    println!(
        "| operation | one Postgres: per second | cluster: per second | as much work | one: µs service, Postgres | \
         cluster: µs service, coordinator, others |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for (name, operation) in COMPARED {
        let (mut of_one, mut of_many, mut of_workers) = (Vec::new(), Vec::new(), Vec::new());
        // The first round fills pools and caches, and does not count.
        for round in 0..=options.rounds {
            let one = single.sample(Target::Service, operation, load)?;
            let before = used(&workers)?;
            let many = distributed.sample(Target::Service, operation, load)?;
            let took = used(&workers)? - before;
            if round > 0 {
                of_one.push(one);
                of_many.push(many);
                of_workers.push(took / (many.per_second * f64::from(load.seconds)));
            }
        }
        print(name, &of_one, &of_many, &of_workers);
    }
    single.stop(0.0)?;
    distributed.stop(0.0)?;
    workers.into_iter().try_for_each(Cluster::stop)
}

/// The CPU time of the workers so far, in microseconds.
fn used(workers: &[Cluster]) -> Result<f64, Failure> {
    let mut used = 0.0;
    for worker in workers {
        let usage = Usage::below(worker.process_id())?;
        used += usage.since(&Usage::default()).microseconds;
    }
    Ok(used)
}

fn print(name: &str, one: &[Sample], many: &[Sample], workers: &[f64]) {
    let rates = |samples| each(samples, |sample| sample.per_second);
    let service = |samples| median(&each(samples, |sample| sample.cost.service));
    let database = |samples| median(&each(samples, |sample| sample.cost.database));
    println!(
        "| {name} | {:.0} | {:.0} | {} | {:.0}, {:.0} | {:.0}, {:.0}, {:.0} |",
        median(&rates(one)),
        median(&rates(many)),
        shown_ratio(&rates(one), &rates(many)),
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
    let coordinator = cluster.ok_or_else(|| Failure::new("the copy has no Postgres"))?;
    let mut script = format!(
        "CREATE EXTENSION citus;\nSELECT citus_set_coordinator_host('127.0.0.1', {});\n",
        coordinator.port()
    );
    for worker in workers {
        database::run_script(worker.url(), "CREATE EXTENSION citus;\n")?;
        let port = worker.port();
        script += &format!("SELECT citus_add_node('127.0.0.1', {port});\n");
    }
    database::run_script(coordinator.url(), &script)?;
    copy.installation.run_admin(&["migrate", "--distribute"])
}
