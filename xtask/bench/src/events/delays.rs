//! Users that are created at a steady rate, with the times of the responses.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use xtask_harness::failure::Failure;
use xtask_harness::installation::text;

use crate::http::Connection;

/// The number of clients that create users.
const CLIENTS: u32 = 4;

/// Created users, with the times of the responses.
pub(crate) type Made = Vec<(String, Instant)>;

/// Creates this many users per second for a while. `name` separates their addresses from those of other calls.
pub(crate) fn make_users(
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
        let response = connection.send("POST", "/v1/auth/users/create", &body)?;
        made.push((text(&response, "/user_id")?, Instant::now()));
    }
    Ok(made)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a thread that keeps a rate has nothing else to do"
)]
fn wait_until(moment: Instant) {
    thread::sleep(moment.saturating_duration_since(Instant::now()));
}
