//! Two implementations of the RateLimiter port:
//!
//! - [`MemoryLimiter`] counts in this process. Exact for one replica; with several, each admits the full limit.
//! - [`RedisLimiter`] counts in Redis or Valkey. Exact over all replicas.
//!
//! Both use windows that open with their first use ([`vestry_domain::limits`]), so both return the same verdicts.

mod link;
mod memory;
mod shared;
mod window;

pub use memory::MemoryLimiter;
pub use shared::{BadRedisUrl, RedisLimiter, RedisSettings};
