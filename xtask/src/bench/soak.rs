//! `bench --soak`: hours of mixed load, and whether the service holds more and more memory.

use std::time::{Duration, Instant};

use super::Options;
use super::load::Load;
use super::pairs::median;
use super::scene::{Operation, Scene, Whom};
use super::usage::float;
use crate::failure::Failure;
use crate::site::Kind;

/// What comes in turn.
const MIX: [(&str, &str, f64); 5] = [
    ("session_verify", "sessions.cold", 1.0),
    ("user_get", "users.cold", 1.0),
    ("sign_message", "wallets.cold", 1.0),
    ("user_create", "users.hot", 1.0),
    ("code", "users.hot", 2.0),
];

/// How much more than in its second quarter the service may hold in the last: caches are full by then.
const MOST_GROWTH: f64 = 1.1;

/// How long, and on how many users.
pub(super) struct Soak {
    pub(super) minutes: u32,
    pub(super) users: u32,
}

/// Puts load on each store and fails where memory grew.
pub(super) fn run(options: &Options, load: Load, soak: &Soak) -> Result<(), Failure> {
    for kind in &options.stores {
        let held = measure(*kind, options, load, soak)?;
        let [_, second, _, last] = quarters(&held);
        println!(
            "{}: {} MiB in the second quarter of {} minutes, {} in the last",
            kind.name(),
            second.round(),
            soak.minutes,
            last.round(),
        );
        if last > second * MOST_GROWTH {
            let name = kind.name();
            return Err(Failure::new(format!(
                "the service holds more and more on {name}"
            )));
        }
    }
    Ok(())
}

/// MiB that the service held after each turn.
fn measure(kind: Kind, options: &Options, load: Load, soak: &Soak) -> Result<Vec<f64>, Failure> {
    let mut scene = Scene::set(kind, soak.users, options)?;
    let idle = scene.resident()?;
    let (begun, whole) = (
        Instant::now(),
        Duration::from_secs(60 * u64::from(soak.minutes)),
    );
    let mut held = Vec::new();
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
        held.push(scene.resident()?);
        eprintln!(
            "{}: {} s, {requests:.0} requests, {:.1} MiB",
            kind.name(),
            begun.elapsed().as_secs(),
            held.last().copied().unwrap_or_default(),
        );
    }
    scene.strike(idle)?;
    Ok(held)
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
    use super::quarters;

    #[test]
    fn a_quarter_is_its_median() {
        let held = [1.0, 2.0, 9.0, 3.0, 4.0, 4.0, 5.0, 5.0, 5.0, 6.0, 7.0, 8.0];
        assert_eq!(quarters(&held), [2.0, 4.0, 5.0, 7.0]);
        assert_eq!(quarters(&[]), [0.0; 4]);
    }
}
