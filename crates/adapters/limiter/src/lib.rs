//! The RateLimiter port, twice:
//!
//! - [`MemoryLimiter`] counts in this process. Exact for one replica; with several, each admits the whole limit.
//! - [`RedisLimiter`] counts in Redis or Valkey. Exact for all replicas together.
//!
//! Both count in windows that open with their first use ([`vestry_domain::limits`]), so both answer the same.

mod link;
mod memory;
mod shared;
mod window;

pub use memory::MemoryLimiter;
pub use shared::{BadRedisUrl, RedisLimiter, RedisSettings};
