//! Sharding of per-App counters, so that concurrent writers rarely wait for each other's commit.

use vestry_domain::token::TokenHash;

/// Number of shards of a counter.
pub(crate) const SHARDS: u32 = 16;

/// Returns the shard in which a subject is counted.
pub(crate) fn shard(subject: &str) -> String {
    let hash = TokenHash::of(subject);
    let byte = hash.0.first().copied().unwrap_or_default();
    (u32::from(byte) % SHARDS).to_string()
}
