//! `bench --builds`: another build in alternation with this one, to measure the effect of a change.

use std::path::Path;

use xtask_harness::failure::Failure;
use xtask_harness::installation::StoreKind;

use crate::bench_env::{BenchEnv, COMPARED, Operation, Sample, Target, each};
use crate::load::Load;
use crate::paired_stats::{median, shown_ratio};
use crate::seeded::Seeded;
use crate::{Options, suite};

/// A build under load, with its samples.
struct Build {
    env: BenchEnv,
    samples: Vec<Sample>,
}

/// Measures and prints the table.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let load = options.load(5);
    let own = options.programs();
    let against = options.against.as_deref().unwrap_or(&own);
    println!(
        "| store | operation | other: per second | this | ratio | other: µs service, database | this | \
         other: p99 ms | this |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|");
    for kind in &options.stores {
        let mut this = Build::start(*kind, options, &own, 0)?;
        let mut other = Build::start(*kind, options, against, 1)?;
        for (name, operation) in COMPARED {
            // The first round fills pools and caches, and does not count.
            for round in 0..=options.rounds {
                // The second build may find a disk that is still busy with the first.
                let order = match round % 2 {
                    0 => [&mut other, &mut this],
                    _ => [&mut this, &mut other],
                };
                for build in order {
                    build.measure(operation, load, round)?;
                }
            }
            print(*kind, name, &this.samples, &other.samples);
        }
        this.env.stop(0.0)?;
        other.env.stop(0.0)?;
    }
    Ok(())
}

impl Build {
    /// Starts a build. The number separates the logs.
    fn start(
        kind: StoreKind,
        options: &Options,
        programs: &Path,
        number: usize,
    ) -> Result<Self, Failure> {
        let own = options.programs();
        let seeded = Seeded::find_or_make(kind, suite::USERS, &own, options.install)?;
        let mut copy = seeded.copy(kind, &own)?;
        copy.installation.run_from(programs);
        Ok(Self {
            env: BenchEnv::start_on(copy, options, number)?,
            samples: Vec::new(),
        })
    }

    fn measure(&mut self, operation: Operation, load: Load, round: u32) -> Result<(), Failure> {
        let sample = self.env.sample(Target::Service, operation, load)?;
        if round == 0 {
            self.samples.clear();
        } else {
            self.samples.push(sample);
        }
        Ok(())
    }
}

fn print(kind: StoreKind, name: &str, this: &[Sample], other: &[Sample]) {
    let rates = |samples: &[Sample]| each(samples, |sample| sample.per_second);
    let service = |samples| median(&each(samples, |sample| sample.cost.service));
    let database = |samples| median(&each(samples, |sample| sample.cost.database));
    let p99 = |samples| median(&each(samples, |sample| sample.times.p99));
    println!(
        "| {} | {name} | {:.0} | {:.0} | {} | {:.0}, {:.0} | {:.0}, {:.0} | {:.2} | {:.2} |",
        kind.name(),
        median(&rates(other)),
        median(&rates(this)),
        shown_ratio(&rates(this), &rates(other)),
        service(other),
        database(other),
        service(this),
        database(this),
        p99(other),
        p99(this)
    );
}
