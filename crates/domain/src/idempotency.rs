//! Retried requests: the key that identifies them, and how long the first response is stored.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::envelope::{Mac, Sealed, join_with_lengths};
use crate::ids::ManagementKeyId;
use crate::timestamp::Seconds;
use crate::{Invalid, Timestamp, World};

/// How long a key is stored, by the clock of its world.
pub const KEPT_FOR: Seconds = Seconds(24 * 3600);
/// How long a run can go without renewing its lease before another one replaces it, by the machine's clock. A live run renews it every
/// [`RENEWED_EVERY`], however long it takes; only one whose process died stops doing so.
pub const LEASE: Seconds = Seconds(15);
/// The interval at which a run renews its [`LEASE`].
pub const RENEWED_EVERY: Seconds = Seconds(5);
/// Maximum length of a key in characters.
pub const MAX_LENGTH: usize = 255;
/// The name of the header, as used in error messages.
pub const HEADER: &str = "Idempotency-Key";

/// A name that the caller chose for a request, so that a retry of the same request is recognized.
#[derive(Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Parses the value of the header: 1 to 255 visible ASCII characters.
    ///
    /// # Errors
    /// [`Invalid`], naming the header.
    pub fn parse(value: &[u8]) -> Result<Self, Invalid> {
        let is_good =
            (1..=MAX_LENGTH).contains(&value.len()) && value.iter().all(u8::is_ascii_graphic);
        let text = str::from_utf8(value).ok().filter(|_| is_good);
        text.map(|text| Self(text.to_owned()))
            .ok_or_else(Self::refused)
    }

    /// The error for any value that is not a key.
    pub fn refused() -> Invalid {
        Invalid::value(
            HEADER,
            "Idempotency-Key must be sent once and have 1 to 255 visible ASCII characters, no spaces",
        )
    }

    /// The stored digest of the key. The same key has a different digest in each world, and for each management key. An App's own keys
    /// share theirs.
    pub fn digest(&self, world: &World, by: Option<ManagementKeyId>) -> KeyDigest {
        let (app, by) = (world.app_id.to_string(), by.map(|key| key.to_string()));
        let parts = [
            b"idempotency-key".as_slice(),
            app.as_bytes(),
            world.environment.as_str().as_bytes(),
            self.0.as_bytes(),
        ];
        let parts = parts.into_iter().chain(by.as_deref().map(str::as_bytes));
        KeyDigest(Sha256::digest(join_with_lengths(parts)).into())
    }
}

/// Without the key: callers put order numbers and more sensitive data into it.
impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdempotencyKey")
    }
}

/// SHA-256 of an [`IdempotencyKey`] and its world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyDigest(pub [u8; 32]);

/// A run that claims a key for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// App and environment.
    pub world: World,
    /// The key.
    pub key: KeyDigest,
    /// MAC of the request.
    pub request: Mac,
    /// The unique name of the run.
    pub holder: String,
    /// When the key expires, by the clock of the world.
    pub expires_at: Timestamp,
    /// When the run's lease ends, by the machine's clock.
    pub lease_until: Timestamp,
}

/// The stored state of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownKey {
    /// MAC of the first request with the key.
    pub request: Mac,
    /// The run that holds it.
    pub holder: String,
    /// When that run's lease ends, by the machine's clock.
    pub lease_until: Timestamp,
    /// The stored response; `None` until there is one.
    pub answer: Option<Sealed>,
    /// Whether the response was erased together with the user that it was about.
    pub erased: bool,
}

#[cfg(test)]
mod tests;
