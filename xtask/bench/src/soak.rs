//! `bench --soak`: hours of mixed load, to detect memory growth.

use std::time::{Duration, Instant};

use xtask_harness::failure::Failure;
use xtask_harness::installation::StoreKind;

use crate::Options;
use crate::bench_env::{BenchEnv, COMPARED, Target};
use crate::paired_stats::median;
use crate::usage::float;

/// The maximum growth from the second quarter, when caches are full, to the last one.
const MAX_GROWTH: f64 = 1.1;

/// Puts load on each store, and fails if memory grew.
pub(crate) fn run(options: &Options, users: u32, minutes: u32) -> Result<(), Failure> {
    for kind in &options.stores {
        let (looks, name) = (measure(*kind, options, users, minutes)?, kind.name());
        let held: Vec<f64> = looks.iter().map(|look| look.held).collect();
        let [_, second, _, last] = quarters(&held);
        let (requests, peak) = looks
            .last()
            .map_or((0.0, 0.0), |look| (look.requests, look.peak));
        println!(
            "{name}: {} MiB in the second quarter of {minutes} minutes and {:.1} million requests, {} in the last; {:+.2} per million \
             in the second half; peak {}",
            second.round(),
            requests / 1e6,
            last.round(),
            slope(looks.get(looks.len() / 2..).unwrap_or_default()) * 1e6,
            peak.round(),
        );
        if last > second * MAX_GROWTH {
            return Err(Failure::new(format!(
                "the memory of the service grew on {name}"
            )));
        }
    }
    Ok(())
}

/// The state after a round of operations.
struct Look {
    /// Requests so far.
    requests: f64,
    /// Resident memory in MiB.
    held: f64,
    /// The peak until then. Reads fill caches that the following writes drop.
    peak: f64,
}

/// The additional memory per request, by least squares.
fn slope(looks: &[Look]) -> f64 {
    let count = float(looks.len().try_into().unwrap_or(u64::MAX));
    let mean = |of: fn(&Look) -> f64| looks.iter().map(of).sum::<f64>() / count;
    let (requests, held) = (mean(|look| look.requests), mean(|look| look.held));
    let covariance: f64 = looks
        .iter()
        .map(|look| (look.requests - requests) * (look.held - held))
        .sum();
    let variance: f64 = looks
        .iter()
        .map(|look| (look.requests - requests).powi(2))
        .sum();
    if variance > 0.0 {
        covariance / variance
    } else {
        0.0
    }
}

/// Puts load on a store, and reads its memory after each round of operations.
fn measure(
    kind: StoreKind,
    options: &Options,
    users: u32,
    minutes: u32,
) -> Result<Vec<Look>, Failure> {
    let load = options.load(5);
    let mut env = BenchEnv::start(kind, users, options)?;
    let idle = env.resident()?;
    let begun = Instant::now();
    let whole = Duration::from_secs(60 * u64::from(minutes));
    let mut looks = Vec::new();
    let mut requests = 0.0;
    while begun.elapsed() < whole {
        for (_, operation) in COMPARED {
            let sample = env.sample(Target::Service, operation, load)?;
            requests += sample.per_second * operation.requests * f64::from(load.seconds);
        }
        let (held, peak) = (env.resident()?, env.peak()?);
        looks.push(Look {
            requests,
            held,
            peak,
        });
        eprintln!(
            "{}: {} s, {requests:.0} requests, {held:.1} MiB, peak {peak:.1}",
            kind.name(),
            begun.elapsed().as_secs(),
        );
    }
    env.stop(idle)?;
    Ok(looks)
}

/// The median of each quarter.
fn quarters(held: &[f64]) -> [f64; 4] {
    let length = held.len();
    [0, 1, 2, 3].map(|quarter| {
        let part = held.get(length * quarter / 4..length * (quarter + 1) / 4);
        median(part.unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::{Look, quarters, slope};

    #[test]
    fn a_slope_is_the_memory_that_each_request_adds() {
        let looks = |points: &[(f64, f64)]| -> Vec<Look> {
            let points = points.iter();
            points
                .map(|&(requests, held)| Look {
                    requests,
                    held,
                    peak: held,
                })
                .collect()
        };
        assert_eq!(slope(&looks(&[(0.0, 1.0), (2.0, 2.0), (4.0, 3.0)])), 0.5);
        assert_eq!(slope(&looks(&[(0.0, 1.0), (1.0, 3.0), (2.0, 1.0)])), 0.0);
        assert_eq!(slope(&looks(&[(1.0, 7.0)])), 0.0);
        assert_eq!(slope(&[]), 0.0);
    }

    #[test]
    fn a_quarter_is_its_median() {
        let held = [1.0, 2.0, 9.0, 3.0, 4.0, 4.0, 5.0, 5.0, 5.0, 6.0, 7.0, 8.0];
        assert_eq!(quarters(&held), [2.0, 4.0, 5.0, 7.0]);
        assert_eq!(quarters(&[]), [0.0; 4]);
    }
}
