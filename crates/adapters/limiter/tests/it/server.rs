//! The Redis or Valkey server of the tests.

use std::num::NonZeroU32;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Client, cmd};
use vestry_domain::World;
use vestry_limiter::{RedisLimiter, RedisSettings};

use crate::log;

const HOW: &str = "the tests of the shared limiter need a Redis or Valkey server: run `cargo xtask test`, or start one \
    and set VESTRY_TEST_REDIS_URL; to leave these tests out, name the lane: VESTRY_TEST_LANES_MISSING=redis";

/// Returns its URL. `None` if the lane `redis` was left out on purpose.
///
/// # Panics
/// There is no server and the lane was not left out.
pub(crate) fn url() -> Option<String> {
    log::install();
    if let Some(url) = variable("VESTRY_TEST_REDIS_URL") {
        return Some(url);
    }
    let missing = variable("VESTRY_TEST_LANES_MISSING").unwrap_or_default();
    assert!(
        missing.split(',').any(|lane| lane.trim() == "redis"),
        "{HOW}"
    );
    eprintln!("left out: the lane `redis` is in VESTRY_TEST_LANES_MISSING");
    None
}

#[expect(clippy::disallowed_methods, reason = "location of the test servers")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Connects a limiter to a working server, with a timeout for busy machines, so that only the test itself breaks anything.
pub(crate) async fn limiter(url: &str) -> RedisLimiter {
    limiter_with(url, Duration::from_secs(20)).await
}

/// The same with a timeout chosen by the test.
pub(crate) async fn limiter_with(url: &str, timeout: Duration) -> RedisLimiter {
    let limiter = connect(url, timeout).await;
    for _ in 0..20 {
        if limiter.probe().await.is_ok() {
            return limiter;
        }
    }
    panic!("the server cannot be reached");
}

/// Connects a limiter, whether there is a server or not.
pub(crate) async fn connect(url: &str, timeout: Duration) -> RedisLimiter {
    connect_one_of(1, url, timeout).await
}

/// The same for one of several processes.
pub(crate) async fn connect_one_of(replicas: u32, url: &str, timeout: Duration) -> RedisLimiter {
    let mut settings = RedisSettings::new(url.to_owned());
    settings.timeout = timeout;
    settings.replicas = NonZeroU32::new(replicas).expect("at least one");
    RedisLimiter::connect(&settings).await.expect("a good URL")
}

/// Opens a separate connection for the test.
pub(crate) async fn connection(url: &str) -> MultiplexedConnection {
    Client::open(url)
        .expect("a good URL")
        .get_multiplexed_async_connection()
        .await
        .expect("the server answers")
}

/// Deletes the key of a world, and returns it.
pub(crate) async fn forget(url: &str, world: &World) -> String {
    let key = format!("vestry:rate:{}:{}", world.app_id, world.environment);
    cmd("DEL")
        .arg(&key)
        .exec_async(&mut connection(url).await)
        .await
        .expect("the key is gone");
    key
}
