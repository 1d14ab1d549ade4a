//! An in-memory rate limiter.

use std::collections::HashMap;
use std::sync::Mutex;

use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::{Timestamp, World};
use vestry_ports::limiter::{LimiterUnavailable, RateLimiter};
use vestry_ports::port;

use super::lock;

/// An in-memory rate limiter.
#[derive(Debug, Default)]
pub struct FakeLimiter(Mutex<Counters>);

#[derive(Debug, Default)]
struct Counters {
    windows: HashMap<World, Window>,
    unavailable: bool,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    opened: Timestamp,
    used: u32,
}

impl FakeLimiter {
    /// Makes the shared counter unreachable (`true`) or reachable again.
    pub fn set_unavailable(&self, unavailable: bool) {
        lock(&self.0).unavailable = unavailable;
    }
}

#[port]
impl RateLimiter for FakeLimiter {
    async fn hit(
        &self,
        world: &World,
        limit: Limit,
        now: Timestamp,
    ) -> Result<LimitVerdict, LimiterUnavailable> {
        let mut counters = lock(&self.0);
        if counters.unavailable {
            return Err(LimiterUnavailable("made unavailable by the test".into()));
        }
        if limit.is_off() {
            return Ok(LimitVerdict::on(limit, 0, now));
        }
        let window = counters.windows.entry(*world).or_insert(Window {
            opened: now,
            used: 0,
        });
        if now >= window.opened + limit.window {
            *window = Window {
                opened: now,
                used: 0,
            };
        }
        window.used = window.used.saturating_add(1);
        Ok(LimitVerdict::on(limit, window.used, window.opened))
    }
}
