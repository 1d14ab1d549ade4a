//! The one form of header that tokens of ours have.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use vestry_domain::ids::SigningKeyId;
use vestry_domain::signing_key::SigningKey;

/// `typ` of session JWTs (S-11).
const TYP: &str = "JWT";

/// Exactly these members: `jku`, `jwk`, `x5u`, `x5c`, `crit` and whatever else would let a token speak about its own
/// verification (S-9, RFC 8725 section 3) is refused with every other unknown member, and a member that comes twice too.
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
    /// The header of tokens under this key.
    pub(crate) fn of(key: &SigningKey) -> Self {
        Self {
            alg: Cow::Borrowed(key.algorithm.as_str()),
            kid: Cow::Owned(key.id.to_string()),
            typ: Cow::Borrowed(TYP),
        }
    }

    /// As the first part of a token.
    pub(crate) fn encoded(&self) -> String {
        // Three strings are always JSON.
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }
}

/// A header that has the right form, from a token that may be a forgery.
pub(crate) struct Claimed {
    kid: SigningKeyId,
    alg: String,
}

impl Header<'_> {
    /// Reads the first part of a token.
    pub(crate) fn parse(encoded: &str) -> Option<Claimed> {
        let json = URL_SAFE_NO_PAD.decode(encoded).ok()?;
        // The derived reader also takes an array of the members in their order.
        if json.first() != Some(&b'{') {
            return None;
        }
        let header: Header<'_> = serde_json::from_slice(&json).ok()?;
        if header.typ != TYP {
            return None;
        }
        // Ids have one spelling only, so equal ids are equal strings.
        Some(Claimed {
            kid: header.kid.parse().ok()?,
            alg: header.alg.into_owned(),
        })
    }
}

impl Claimed {
    /// The key of that `kid`, if it is of that `alg` as well: the token may repeat the algorithm, never choose it.
    pub(crate) fn key_among<'k>(&self, keys: &'k [SigningKey]) -> Option<&'k SigningKey> {
        keys.iter()
            .find(|key| key.id == self.kid)
            .filter(|key| key.algorithm.as_str() == self.alg)
    }
}
