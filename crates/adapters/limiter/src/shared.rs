//! Counting in Redis or Valkey.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::Client;
use vestry_domain::limits::{Limit, Verdict};
use vestry_domain::{Secret, Timestamp, World};
use vestry_ports::limiter::{LimiterUnavailable, RateLimiter};
use vestry_ports::port;

use crate::link::{Count, Link, announce};
use crate::memory::MemoryLimiter;

/// Clocks that differ by less than this, in seconds, count as one clock: both are read in whole seconds.
const SAME_CLOCK: u64 = 1;

/// Where the shared counters are.
#[derive(Debug, Clone)]
pub struct RedisSettings {
    /// `redis://user:password@host:port/database`, to one server; TLS and clusters are not supported.
    pub url: Secret<String>,
    /// How long one count may take before the store counts as not available.
    pub timeout: Duration,
}

impl RedisSettings {
    /// A server, with a timeout of 50 ms.
    pub fn new(url: impl Into<Secret<String>>) -> Self {
        Self {
            url: url.into(),
            timeout: Duration::from_millis(50),
        }
    }
}

/// Not a URL of a Redis server that we can use. Never repeats it: it may hold a password.
#[derive(Debug, thiserror::Error)]
#[error("not a URL such as redis://:password@redis.example.com:6379/0 (without TLS)")]
pub struct BadRedisUrl;

/// Counts in a Redis (5 or later) or Valkey server that all replicas share; together they admit exactly the limit.
///
/// One key a world, `vestry:rate:{app id}:{environment}`, that is gone when its window is. The window follows the clock of
/// the server; the time that a call brings only translates its end into the caller's clock.
///
/// `on_store_failure = open`: when the server does not answer in time, every replica counts by itself, with the same
/// limit, until it is back. So requests are never refused because of it, and at most `replicas` times the limit is
/// admitted. The outage is logged once when it begins and once when it ends. Limits that protect secrets (codes, sign-in)
/// do not live here; they are counted in the database.
pub struct RedisLimiter {
    link: Arc<Link>,
    alone: MemoryLimiter,
}

impl RedisLimiter {
    /// A limiter over this server. A server that cannot be reached now is an outage like any other.
    ///
    /// # Errors
    /// The URL cannot be used.
    pub async fn connect(settings: &RedisSettings) -> Result<Self, BadRedisUrl> {
        let Ok(client) = Client::open(settings.url.expose().as_str()) else {
            return Err(BadRedisUrl);
        };
        let link = Arc::new(Link::new(client, settings.timeout));
        if let Err(fault) = link.connect().await {
            announce(&fault);
        }
        Ok(Self {
            link,
            alone: MemoryLimiter::new(),
        })
    }

    /// Whether the server can be reached and written to, tried on a new connection. Ends an outage that is over.
    ///
    /// # Errors
    /// It cannot.
    pub async fn probe(&self) -> Result<(), LimiterUnavailable> {
        self.link
            .connect()
            .await
            .map_err(|fault| LimiterUnavailable(Box::new(fault)))
    }
}

/// Only the kind of thing it is; the URL may hold a password.
impl fmt::Debug for RedisLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedisLimiter")
    }
}

#[port]
impl RateLimiter for RedisLimiter {
    /// Never fails; see [`RedisLimiter`].
    async fn hit(
        &self,
        world: &World,
        limit: Limit,
        now: Timestamp,
    ) -> Result<Verdict, LimiterUnavailable> {
        if limit.is_off() {
            return Ok(Verdict::on(limit, 0, now));
        }
        let key = format!("vestry:rate:{}:{}", world.app_id, world.environment);
        Ok(match self.link.count(&key, limit).await {
            Some(count) => verdict(count, limit, now),
            None => self.alone.count(world, limit, now),
        })
    }
}

/// The verdict in the caller's time.
///
/// The end of the window is a moment of the server's clock. As long as both clocks agree it is given as it is, so that it
/// does not move between two answers; where they differ it is moved by the difference, so that "in 20 seconds" is right.
fn verdict(count: Count, limit: Limit, now: Timestamp) -> Verdict {
    let difference = now - Timestamp::from_unix(count.now);
    let opened = Timestamp::from_unix(count.opened);
    let opened = if difference.0.unsigned_abs() <= SAME_CLOCK {
        opened
    } else {
        opened + difference
    };
    Verdict::on(limit, u32::try_from(count.used).unwrap_or(u32::MAX), opened)
}

#[cfg(test)]
mod tests;
