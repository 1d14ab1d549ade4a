//! Counters that all of an App share, split so that those who count at the same time rarely wait for one another's commit.

use vestry_domain::token::TokenHash;

/// How many parts such a counter has.
pub(crate) const SHARDS: u32 = 16;

/// In which part something is counted.
pub(crate) fn shard(subject: &str) -> String {
    let hash = TokenHash::of(subject);
    let byte = hash.0.first().copied().unwrap_or_default();
    (u32::from(byte) % SHARDS).to_string()
}
