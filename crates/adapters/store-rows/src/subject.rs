//! What a guard or a budget counts for.

use std::borrow::Cow;

use vestry_domain::token::TokenHash;

/// Longest subject that is kept as it is, in bytes. An index entry of Postgres holds about 2,700.
const LONGEST: usize = 256;

/// The subject as it is stored: as it is, or its SHA-256 when somebody sent a very long one.
pub fn key(subject: &str) -> Cow<'_, str> {
    if subject.len() <= LONGEST {
        Cow::Borrowed(subject)
    } else {
        Cow::Owned(format!("sha256:{}", hex::encode(TokenHash::of(subject).0)))
    }
}
