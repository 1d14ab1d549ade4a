//! The fixed header format of our tokens.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use vestry_domain::ids::SigningKeyId;
use vestry_domain::signing_key::SigningKey;

/// `typ` of session JWTs (S-11).
const TYP: &str = "JWT";

/// Exactly these members. All unknown members and duplicates are refused. That includes `jku`, `jwk`, `x5u`, `x5c`, `crit` and anything
/// else that would let a token influence its own verification (S-9, RFC 8725 section 3).
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header<'a> {
    #[serde(borrow)]
    alg: Cow<'a, str>,
    #[serde(borrow)]
    kid: Cow<'a, str>,
    #[serde(borrow)]
    typ: Cow<'a, str>,
}

impl Header<'static> {
    /// Returns the header of tokens signed with this key.
    pub(crate) fn of(key: &SigningKey) -> Self {
        Self {
            alg: Cow::Borrowed(key.algorithm.as_str()),
            kid: Cow::Owned(key.id.to_string()),
            typ: Cow::Borrowed(TYP),
        }
    }

    /// Encodes the header as the first part of a token.
    pub(crate) fn encoded(&self) -> String {
        // Three strings always serialize.
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }
}

/// A well-formed header, from a token that may be forged.
pub(crate) struct Claimed {
    kid: SigningKeyId,
    alg: String,
}

impl Header<'_> {
    /// Parses the first part of a token.
    pub(crate) fn parse(encoded: &str) -> Option<Claimed> {
        let json = URL_SAFE_NO_PAD.decode(encoded).ok()?;
        // The derived deserializer also accepts an array of the members in order.
        if json.first() != Some(&b'{') {
            return None;
        }
        let header: Header<'_> = serde_json::from_slice(&json).ok()?;
        if header.typ != TYP {
            return None;
        }
        // Ids have only one spelling, so equal ids are equal strings.
        Some(Claimed {
            kid: header.kid.parse().ok()?,
            alg: header.alg.into_owned(),
        })
    }
}

impl Claimed {
    /// Returns the key with that `kid` if its `alg` matches as well: the token repeats the algorithm, but never chooses it.
    pub(crate) fn key_among<'k>(&self, keys: &'k [SigningKey]) -> Option<&'k SigningKey> {
        keys.iter()
            .find(|key| key.id == self.kid)
            .filter(|key| key.algorithm.as_str() == self.alg)
    }
}
