//! `bench --builds`: another build in turn with this one, so that what a change gains is known before it is believed.

use std::path::Path;

use super::load::Load;
use super::pairs::{median, ratio};
use super::scene::{COMPARED, Operation, Sample, Scene, Whom, each};
use super::seeded::Seeded;
use super::{Options, course};
use crate::failure::Failure;
use crate::site::Kind;

/// One build under load, with what it reached and took.
struct Build {
    scene: Scene,
    samples: Vec<Sample>,
}

/// Measures and prints the table.
pub(super) fn run(
    options: &Options,
    load: Load,
    against: &Path,
    rounds: u32,
) -> Result<(), Failure> {
    println!(
        "| store | operation | other: per second | this | ratio | other: µs service, database | this | \
         other: p99 ms | this |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|");
    for kind in &options.stores {
        let mut this = Build::start(*kind, options, &options.programs(), 0)?;
        let mut other = Build::start(*kind, options, against, 1)?;
        for (name, operation) in COMPARED {
            // The first of each fills pools and caches, and does not count.
            for round in 0..=rounds {
                // The second one may find a disk that is still busy with the first.
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
        this.scene.strike(0.0)?;
        other.scene.strike(0.0)?;
    }
    Ok(())
}

impl Build {
    /// Its log has a number.
    fn start(
        kind: Kind,
        options: &Options,
        programs: &Path,
        number: usize,
    ) -> Result<Self, Failure> {
        let own = options.programs();
        let seeded = Seeded::find_or_make(kind, course::USERS, &own, options.install)?;
        let mut copy = seeded.copy(kind, &own)?;
        copy.site.run_from(programs);
        Ok(Self {
            scene: Scene::on(copy, options, number)?,
            samples: Vec::new(),
        })
    }

    fn measure(&mut self, operation: Operation, load: Load, round: u32) -> Result<(), Failure> {
        let sample = self.scene.sample(Whom::Service, operation, load)?;
        if round == 0 {
            self.samples.clear();
        } else {
            self.samples.push(sample);
        }
        Ok(())
    }
}

fn print(kind: Kind, name: &str, this: &[Sample], other: &[Sample]) {
    let rates = |samples: &[Sample]| each(samples, |sample| sample.per_second);
    let service = |samples| median(&each(samples, |sample| sample.cost.service));
    let database = |samples| median(&each(samples, |sample| sample.cost.database));
    let p99 = |samples| median(&each(samples, |sample| sample.times.p99));
    let times =
        ratio(&rates(this), &rates(other)).map_or_else(String::new, |ratio| ratio.to_string());
    println!(
        "| {} | {name} | {:.0} | {:.0} | {times} | {:.0}, {:.0} | {:.0}, {:.0} | {:.2} | {:.2} |",
        kind.name(),
        median(&rates(other)),
        median(&rates(this)),
        service(other),
        database(other),
        service(this),
        database(this),
        p99(other),
        p99(this)
    );
}
