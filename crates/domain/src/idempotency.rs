//! Requests that are sent again: the key that a caller gives them, and how long their first answer is kept.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::envelope::{Mac, Sealed, join_with_lengths};
use crate::timestamp::Seconds;
use crate::{Invalid, Timestamp, World};

/// How long a key is remembered, by the clock of its world.
pub const KEPT_FOR: Seconds = Seconds(24 * 3600);
/// How long a run may be silent before another one takes its place, by the machine's clock. A run that is alive renews
/// its lease every [`RENEWED_EVERY`], however long it takes; only one whose process died is silent.
pub const LEASE: Seconds = Seconds(15);
/// See [`LEASE`].
pub const RENEWED_EVERY: Seconds = Seconds(5);
/// Longest key, in characters.
pub const LONGEST: usize = 255;
/// Name of the header, as refusals name it.
pub const HEADER: &str = "Idempotency-Key";

/// What a caller calls a request, so that the same request sent again is known for that.
#[derive(Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Reads the value of the header: 1 to 255 visible ASCII characters.
    ///
    /// # Errors
    /// [`Invalid`], of the header.
    pub fn parse(value: &[u8]) -> Result<Self, Invalid> {
        let is_good =
            (1..=LONGEST).contains(&value.len()) && value.iter().all(u8::is_ascii_graphic);
        let text = str::from_utf8(value).ok().filter(|_| is_good);
        text.map(|text| Self(text.to_owned()))
            .ok_or_else(Self::refused)
    }

    /// The refusal of whatever is no key.
    pub fn refused() -> Invalid {
        Invalid::value(
            HEADER,
            "Idempotency-Key must be one header of 1 to 255 visible ASCII characters, without spaces",
        )
    }

    /// What is stored of the key. The same key in two worlds has two digests.
    pub fn digest(&self, world: &World) -> KeyDigest {
        let app = world.app_id.to_string();
        let parts = [
            b"idempotency-key".as_slice(),
            app.as_bytes(),
            world.environment.as_str().as_bytes(),
            self.0.as_bytes(),
        ];
        KeyDigest(Sha256::digest(join_with_lengths(parts)).into())
    }
}

/// Without the key: callers put order numbers and worse into it.
impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdempotencyKey")
    }
}

/// SHA-256 over an [`IdempotencyKey`] and its world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyDigest(pub [u8; 32]);

/// A run that wants a key for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// App and environment.
    pub world: World,
    /// The key.
    pub key: KeyDigest,
    /// Keyed hash over the request.
    pub request: Mac,
    /// Name of the run; no two runs have the same.
    pub holder: String,
    /// When the key is forgotten, by the clock of the world.
    pub expires_at: Timestamp,
    /// When the run counts as dead, by the machine's clock.
    pub lease_until: Timestamp,
}

/// What is known of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownKey {
    /// Keyed hash over the request that had the key first.
    pub request: Mac,
    /// The run that has it.
    pub holder: String,
    /// When that run counts as dead, by the machine's clock.
    pub lease_until: Timestamp,
    /// Its answer; `None` while there is none.
    pub answer: Option<Sealed>,
    /// Whether an answer was erased with the user it was about.
    pub erased: bool,
}

#[cfg(test)]
mod tests;
