//! Proof Key for Code Exchange (RFC 7636): the party that verifies a sign-in proves that it also started it.
//!
//! This service is the client towards identity providers, and the verifying server towards Apps. A start call passes a challenge, and the
//! resulting token is only valid with its verifier. Without that, an attacker could pass their own token to another person, who would be
//! signed in as the attacker. The only method is `S256`.

use std::fmt;
use std::ops::RangeInclusive;

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::{Invalid, Secret};

/// Number of wrong verifiers after which a token is used up.
pub const MAX_TRIES: i64 = 5;

/// The only method: `plain` would reveal the verifier to anyone who sees the start call.
const METHOD: &str = "S256";
/// Length of a verifier in characters (RFC 7636, section 4.1).
const VERIFIER_LENGTH: RangeInclusive<usize> = 43..=128;

/// The SHA-256 of a code verifier. Not secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeChallenge(pub [u8; 32]);

impl CodeChallenge {
    /// The challenge of a verifier (RFC 7636, section 4.2).
    pub fn of(verifier: &Secret<String>) -> Self {
        Self(Sha256::digest(verifier.expose().as_bytes()).into())
    }

    /// The challenge from a start call, if it sent one. A missing method means `S256`; RFC 7636 makes it `plain`, which is not accepted.
    ///
    /// # Errors
    /// If the challenge is not 43 characters of base64url, the method is another one, or there is a method without a challenge; names the
    /// field.
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

    /// Whether this is the challenge of a verifier, compared in constant time. A text that cannot be a verifier counts as wrong.
    fn is_of(&self, verifier: &Secret<String>) -> bool {
        has_form(verifier.expose()) && bool::from(self.0.ct_eq(&Self::of(verifier).0))
    }
}

/// Writes 43 characters of base64url.
impl fmt::Display for CodeChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64URL_NOPAD.encode(&self.0))
    }
}

/// Whether the verifier matches the challenge, or both are absent.
///
/// A verifier without a challenge is rejected like a wrong one. The App that sends it started with a challenge, so this token comes from a
/// different start call (RFC 9700, section 2.1.1).
pub fn is_met(challenge: Option<&CodeChallenge>, verifier: Option<&Secret<String>>) -> bool {
    match (challenge, verifier) {
        (Some(challenge), Some(verifier)) => challenge.is_of(verifier),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Whether it consists of unreserved characters and has a valid length (RFC 7636, section 4.1).
fn has_form(verifier: &str) -> bool {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    VERIFIER_LENGTH.contains(&verifier.len()) && verifier.bytes().all(is_unreserved)
}

#[cfg(test)]
mod tests;
