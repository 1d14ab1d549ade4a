//! Database keys for the subjects of lockouts and quotas.

use std::borrow::Cow;

use vestry_domain::token::TokenHash;

/// Maximum length in bytes of a subject that is stored verbatim. An index entry of Postgres holds about 2,700.
const MAX_LENGTH: usize = 256;

/// Returns the subject as stored: verbatim, or its SHA-256 if it is too long.
pub fn key(subject: &str) -> Cow<'_, str> {
    if subject.len() <= MAX_LENGTH {
        Cow::Borrowed(subject)
    } else {
        Cow::Owned(format!("sha256:{}", hex::encode(TokenHash::of(subject).0)))
    }
}
