//! The general rate limit of requests.

use vestry_domain::limits::{Limit, Verdict};
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

/// The shared counter could not be reached.
#[derive(Debug, thiserror::Error)]
#[error("the rate limiter's store is not available")]
pub struct LimiterUnavailable(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Counts requests of a world.
#[port]
pub trait RateLimiter: Send + Sync {
    /// Counts one use and says whether it is within the limit. A limit that is off counts nothing.
    ///
    /// # Errors
    /// The shared store cannot be reached; the caller decides what that means.
    async fn hit(
        &self,
        world: &World,
        limit: Limit,
        now: Timestamp,
    ) -> Result<Verdict, LimiterUnavailable>;

    /// The same without waiting, for a limiter whose counter is at hand in this process; `None`, and nothing counted,
    /// for any other. It spares a web worker the way to the service's runtime and back.
    fn hit_at_once(&self, world: &World, limit: Limit, now: Timestamp) -> Option<Verdict> {
        let _ = (world, limit, now);
        None
    }
}
