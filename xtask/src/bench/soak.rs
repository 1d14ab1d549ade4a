//! `bench --soak`: hours of mixed load, and whether the service holds more and more memory.

use std::time::{Duration, Instant};

use super::Options;
use super::load::Load;
use super::pairs::median;
use super::scene::{Operation, Scene, Whom};
use super::usage::float;
use crate::failure::Failure;
use crate::site::Kind;

/// The operations, in turn.
const MIX: [(&str, &str, f64); 5] = [
    ("session_verify", "sessions.cold", 1.0),
    ("user_get", "users.cold", 1.0),
    ("sign_message", "wallets.cold", 1.0),
    ("user_create", "users.hot", 1.0),
    ("code", "users.hot", 2.0),
];

/// How much more than in its second quarter the service may hold in the last: caches are full by then.
const MAX_GROWTH: f64 = 1.1;

/// How long, and on how many users.
pub(super) struct Soak {
    pub(super) minutes: u32,
    pub(super) users: u32,
}

/// Puts load on each store and fails where memory grew.
pub(super) fn run(options: &Options, load: Load, soak: &Soak) -> Result<(), Failure> {
    for kind in &options.stores {
        let looks = measure(*kind, options, load, soak)?;
        let held: Vec<f64> = looks.iter().map(|look| look.held).collect();
        let [_, second, _, last] = quarters(&held);
        let (settled, millions) = (looks.len() / 2, requests_of(&looks) / 1e6);
        println!(
            "{}: {} MiB in the second quarter of {} minutes and {millions:.1} million requests, {} in the last; {:+.2} for a million in the \
             second half; {} at most at any moment",
            kind.name(),
            second.round(),
            soak.minutes,
            last.round(),
            slope(looks.get(settled..).unwrap_or_default()) * 1e6,
            looks.last().map_or(0.0, |look| look.peak).round(),
        );
        if last > second * MAX_GROWTH {
            let name = kind.name();
            return Err(Failure::new(format!(
                "the service holds more and more on {name}"
            )));
        }
    }
    Ok(())
}

/// The state after a turn.
struct Look {
    /// Requests so far.
    requests: f64,
    /// MiB that the service held.
    held: f64,
    /// The most that it has held until then: reading alone fills caches that the writing after it throws away.
    peak: f64,
}

fn requests_of(looks: &[Look]) -> f64 {
    looks.last().map_or(0.0, |look| look.requests)
}

/// How much more is held with each request: the line of least squares.
fn slope(looks: &[Look]) -> f64 {
    let mean = |of: &dyn Fn(&Look) -> f64| {
        looks.iter().map(of).sum::<f64>() / float(looks.len().try_into().unwrap_or(u64::MAX))
    };
    let (requests, held) = (mean(&|look| look.requests), mean(&|look| look.held));
    let together: f64 = looks
        .iter()
        .map(|look| (look.requests - requests) * (look.held - held))
        .sum();
    let apart: f64 = looks
        .iter()
        .map(|look| (look.requests - requests).powi(2))
        .sum();
    if apart > 0.0 { together / apart } else { 0.0 }
}

/// Puts load on a store and looks after each turn.
fn measure(kind: Kind, options: &Options, load: Load, soak: &Soak) -> Result<Vec<Look>, Failure> {
    let mut scene = Scene::set(kind, soak.users, options)?;
    let idle = scene.resident()?;
    let (begun, whole) = (
        Instant::now(),
        Duration::from_secs(60 * u64::from(soak.minutes)),
    );
    let mut looks = Vec::new();
    let mut requests = 0.0;
    while begun.elapsed() < whole {
        for (name, list, requests_of_one) in MIX {
            let operation = Operation {
                name,
                list,
                requests: requests_of_one,
            };
            let sample = scene.sample(Whom::Service, operation, load)?;
            requests += sample.per_second * requests_of_one * float(u64::from(load.seconds));
        }
        let (held, peak) = (scene.resident()?, scene.peak()?);
        looks.push(Look {
            requests,
            held,
            peak,
        });
        eprintln!(
            "{}: {} s, {requests:.0} requests, {held:.1} MiB, {peak:.1} at most",
            kind.name(),
            begun.elapsed().as_secs(),
        );
    }
    scene.strike(idle)?;
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
    fn a_slope_is_what_each_request_adds() {
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
