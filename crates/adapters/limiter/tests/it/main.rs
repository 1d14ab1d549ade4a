//! The limiters against the contract of their port, and the shared one against a real server.

#![expect(clippy::expect_used, reason = "a panic fails the test")]

mod contract;
mod log;
mod outage;
mod proxy;
mod server;
mod sharing;

use vestry_domain::ids::{AppId, Id};
use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::limiter::RateLimiter;

/// A world used only by this test; the first 16 letters of its name make it unique.
fn world(test: &str) -> World {
    let mut random = [0; 16];
    for (place, byte) in random.iter_mut().zip(test.bytes()) {
        *place = byte;
    }
    let app_id = AppId::new(Timestamp::from_unix(1_770_000_000), random);
    World::new(app_id, Environment::Live)
}

/// The machine's time.
#[expect(
    clippy::disallowed_methods,
    reason = "replaces the service's clock adapter"
)]
fn now() -> Timestamp {
    let since_1970 = std::time::SystemTime::now()
        .duration_since(std::time::SystemTime::UNIX_EPOCH)
        .expect("after 1970");
    Timestamp::from_unix(i64::try_from(since_1970.as_secs()).expect("in range"))
}

/// Counts one use now.
async fn hit(limiter: &dyn RateLimiter, world: &World, limit: Limit) -> LimitVerdict {
    limiter
        .hit(world, limit, now())
        .await
        .expect("the limiter never fails")
}

/// Returns how many of these uses are admitted.
async fn admitted(limiter: &dyn RateLimiter, world: &World, limit: Limit, uses: u32) -> u32 {
    let mut admitted = 0;
    for _ in 0..uses {
        admitted += u32::from(hit(limiter, world, limit).await.admitted);
    }
    admitted
}
