//! The delay from the response to a change until a reader sees it.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::http::Connection;
use crate::failure::Failure;

/// Clients that make users.
const CLIENTS: u32 = 4;

/// Users who were made, and when their answers came.
pub(super) type Made = Vec<(String, Instant)>;

/// Creates this many users per second for a while; the client and the number make their addresses.
pub(super) fn make_users(
    base_url: &str,
    key: &str,
    per_second: u32,
    seconds: u32,
    name: &str,
) -> Result<Made, Failure> {
    let clients = (0..CLIENTS).map(|client| {
        let (base_url, key) = (base_url.to_owned(), key.to_owned());
        let name = format!("{name}-{client}");
        thread::spawn(move || make(&base_url, &key, per_second, seconds, &name))
    });
    let clients: Vec<_> = clients.collect();
    let mut made = Vec::new();
    for client in clients {
        let ended = client.join();
        made.extend(ended.map_err(|_panic| Failure::new("a client panicked"))??);
    }
    Ok(made)
}

fn make(
    base_url: &str,
    key: &str,
    per_second: u32,
    seconds: u32,
    name: &str,
) -> Result<Made, Failure> {
    let mut connection = Connection::open(base_url, key)?;
    let begun = Instant::now();
    let between = Duration::from_secs(1) * CLIENTS / per_second.max(1);
    let mut made = Vec::new();
    for number in 0..per_second * seconds / CLIENTS {
        wait_until(begun + between * number);
        let body = json!({ "email": format!("{name}-{number}@bench.example") });
        let answer = connection.send("POST", "/v1/auth/users/create", &body)?;
        let user = answer.get("user_id").and_then(Value::as_str);
        let user = user.ok_or_else(|| Failure::new("an answer names no user"))?;
        made.push((user.to_owned(), Instant::now()));
    }
    Ok(made)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a thread that keeps a pace has nothing else to do"
)]
pub(super) fn wait_until(moment: Instant) {
    thread::sleep(moment.saturating_duration_since(Instant::now()));
}

/// The percentile, in milliseconds.
pub(super) fn percentile(delays: &[f64], percent: usize) -> f64 {
    let mut sorted = delays.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or_default()
}

pub(super) fn milliseconds(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let delays: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(percentile(&delays, 50), 100.0);
        assert_eq!(percentile(&delays, 99), 198.0);
        assert_eq!(percentile(&[7.0], 99), 7.0);
        assert_eq!(percentile(&[], 99), 0.0);
    }
}
