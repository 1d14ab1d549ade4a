//! The general request rate limit.

use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

/// The shared counter could not be reached.
#[derive(Debug, thiserror::Error)]
#[error("the rate limiter's store is unavailable")]
pub struct LimiterUnavailable(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Counts the requests of a world.
#[port]
pub trait RateLimiter: Send + Sync {
    /// Counts one use and returns whether it is within the limit. A disabled limit counts nothing.
    ///
    /// # Errors
    /// If the shared store cannot be reached; the caller decides what happens then.
    async fn hit(
        &self,
        world: &World,
        limit: Limit,
        now: Timestamp,
    ) -> Result<LimitVerdict, LimiterUnavailable>;

    /// Same as [`RateLimiter::hit`] but without waiting, for a limiter whose counter is in this process. `None`, without counting, for any
    /// other. It saves a web worker the round trip to the service's runtime.
    fn hit_at_once(&self, world: &World, limit: Limit, now: Timestamp) -> Option<LimitVerdict> {
        let _ = (world, limit, now);
        None
    }

    /// Whether requests are counted by this process alone, because the shared store is unavailable.
    fn is_alone(&self) -> bool {
        false
    }
}
