//! Rate limiting in Redis or Valkey.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use redis::Client;
use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::{Secret, Timestamp, World};
use vestry_ports::limiter::{LimiterUnavailable, RateLimiter};
use vestry_ports::port;

use crate::link::{Count, Link, announce};
use crate::memory::MemoryLimiter;

/// Clocks that differ by no more than this, in seconds, count as equal: both are read in whole seconds.
const SAME_CLOCK: u64 = 1;

/// Location of the shared counters.
#[derive(Debug, Clone)]
pub struct RedisSettings {
    /// `redis://user:password@host:port/database`, for a single server; TLS and clusters are not supported.
    pub url: Secret<String>,
    /// Time limit of one count, after which the store counts as unavailable.
    pub timeout: Duration,
    /// The number of processes that share the limits while the store is unavailable.
    pub replicas: NonZeroU32,
}

impl RedisSettings {
    /// Settings for a server and one process, with a timeout of 50 ms.
    pub fn new(url: impl Into<Secret<String>>) -> Self {
        Self {
            url: url.into(),
            timeout: Duration::from_millis(50),
            replicas: NonZeroU32::MIN,
        }
    }
}

/// Not a usable Redis URL. Its text is never repeated: it may contain a password.
#[derive(Debug, thiserror::Error)]
#[error("not a URL such as redis://:password@redis.example.com:6379/0 (without TLS)")]
pub struct BadRedisUrl;

/// Counts in a Redis (5 or later) or Valkey server that all replicas share; together they admit exactly the limit.
///
/// There is one key per world, `vestry:rate:{app id}:{environment}`, which expires with its window. The window follows the server's clock;
/// the caller's time is used only to express the window's end in the caller's clock.
///
/// `on_store_failure = open`: if the server does not respond in time, every replica counts locally until it is back, with its share of the
/// limit ([`RedisSettings::replicas`], PR-68). Requests are therefore never refused because of an outage alone. The beginning and the end of
/// an outage are logged once each. Limits that protect secrets (codes, sign-in) are counted in the database instead.
pub struct RedisLimiter {
    link: Arc<Link>,
    alone: MemoryLimiter,
    replicas: NonZeroU32,
}

impl RedisLimiter {
    /// Connects to the server. If it is unreachable now, that is an outage like any other.
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
            replicas: settings.replicas,
        })
    }

    /// Checks on a new connection that the server can be reached and written to. Ends an outage that is over.
    ///
    /// # Errors
    /// The server is unavailable.
    pub async fn probe(&self) -> Result<(), LimiterUnavailable> {
        self.link
            .connect()
            .await
            .map_err(|fault| LimiterUnavailable(Box::new(fault)))
    }
}

/// Prints only the type name; the URL may contain a password.
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
    ) -> Result<LimitVerdict, LimiterUnavailable> {
        if limit.is_off() {
            return Ok(LimitVerdict::on(limit, 0, now));
        }
        let key = format!("vestry:rate:{}:{}", world.app_id, world.environment);
        Ok(match self.link.count(&key, limit).await {
            Some(count) => verdict(count, limit, now),
            None => {
                let share = limit.divided_by(self.replicas);
                self.alone.count(world, share, now)
            }
        })
    }

    fn is_alone(&self) -> bool {
        self.link.is_down()
    }
}

/// Returns the verdict in the caller's time.
///
/// The window's end is a time of the server's clock. While both clocks agree it is returned unchanged, so that it is the same in all
/// responses. If they differ, it is shifted by the difference, so that "in 20 seconds" is right.
fn verdict(count: Count, limit: Limit, now: Timestamp) -> LimitVerdict {
    let difference = now - Timestamp::from_unix(count.now);
    let opened = Timestamp::from_unix(count.opened);
    let opened = if difference.0.unsigned_abs() <= SAME_CLOCK {
        opened
    } else {
        opened + difference
    };
    LimitVerdict::on(limit, u32::try_from(count.used).unwrap_or(u32::MAX), opened)
}

#[cfg(test)]
mod tests;
