//! Proof Key for Code Exchange (RFC 7636): who verifies shows that it is who began.
//!
//! Towards identity providers this service is the client. Towards Apps it is what checks: a start call takes a challenge, and
//! the token that comes of it is good only with its verifier. Without, a token can be handed to somebody else, who is then
//! signed in as whoever made it. There is one method, `S256`.

use std::fmt;
use std::ops::RangeInclusive;

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::{Invalid, Secret};

/// Wrong verifiers after which a token is used up.
pub const MAX_TRIES: i64 = 5;

/// The one method: `plain` would show the verifier to whoever sees the start call.
const METHOD: &str = "S256";
/// Characters of a verifier (RFC 7636, section 4.1).
const VERIFIER_LENGTH: RangeInclusive<usize> = 43..=128;

/// The SHA-256 of a code verifier. It is no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeChallenge(pub [u8; 32]);

impl CodeChallenge {
    /// The challenge of a verifier (RFC 7636, section 4.2).
    pub fn of(verifier: &Secret<String>) -> Self {
        Self(Sha256::digest(verifier.expose().as_bytes()).into())
    }

    /// What a start call sent, if it sent anything. An absent method is `S256`; RFC 7636 makes it `plain`, which is not taken.
    ///
    /// # Errors
    /// A challenge that is not 43 characters of base64url, another method, or a method without a challenge; names the field.
    pub fn asked(challenge: Option<&str>, method: Option<&str>) -> Result<Option<Self>, Invalid> {
        if method.is_some_and(|method| method != METHOD) {
            return Err(Invalid::value(
                "code_challenge_method",
                "code_challenge_method must be S256",
            ));
        }
        match challenge {
            Some(challenge) => Self::parse(challenge).map(Some),
            None if method.is_some() => Err(Invalid::missing("code_challenge")),
            None => Ok(None),
        }
    }

    fn parse(text: &str) -> Result<Self, Invalid> {
        let decoded = BASE64URL_NOPAD.decode(text.as_bytes()).ok();
        let hash = decoded.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        hash.map(Self).ok_or_else(|| {
            Invalid::value(
                "code_challenge",
                "code_challenge must be the SHA-256 of the code verifier in base64url without padding: 43 characters",
            )
        })
    }

    /// Whether this is the challenge of a verifier, in constant time. A text that cannot be a verifier is a wrong one.
    fn is_of(&self, verifier: &Secret<String>) -> bool {
        has_form(verifier.expose()) && bool::from(self.0.ct_eq(&Self::of(verifier).0))
    }
}

/// 43 characters of base64url.
impl fmt::Display for CodeChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64URL_NOPAD.encode(&self.0))
    }
}

/// Whether who verifies is who began: the verifier is the one of the challenge, or there is neither.
///
/// A verifier without a challenge is refused like a wrong one. An App that sends it has begun with a challenge, so this token
/// is of a start call by somebody else (RFC 9700, section 2.1.1).
pub fn is_met(challenge: Option<&CodeChallenge>, verifier: Option<&Secret<String>>) -> bool {
    match (challenge, verifier) {
        (Some(challenge), Some(verifier)) => challenge.is_of(verifier),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Unreserved characters, as many as there may be (RFC 7636, section 4.1).
fn has_form(verifier: &str) -> bool {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    VERIFIER_LENGTH.contains(&verifier.len()) && verifier.bytes().all(is_unreserved)
}

#[cfg(test)]
mod tests;
