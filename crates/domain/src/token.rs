//! Bearer tokens, which are shown once, and their stored hashes.

use sha2::{Digest, Sha256};

use crate::Secret;
use crate::random::{self, ByteSource};

/// SHA-256 of a bearer token with at least 128 bits of entropy. The database stores nothing else of it (S-1, S-15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// The hash used to look up a presented token.
    pub fn of(value: &str) -> Self {
        Self(Sha256::digest(value.as_bytes()).into())
    }
}

/// Length of a session token, in characters of `[0-9A-Za-z]` (381 bits).
const SESSION_TOKEN: usize = 64;

/// A new session token.
pub fn session_token(source: &mut dyn ByteSource) -> Secret<String> {
    random::alphanumeric(source, SESSION_TOKEN)
}

/// Whether a text has the form of a session token.
pub fn is_session(text: &str) -> bool {
    text.len() == SESSION_TOKEN && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
