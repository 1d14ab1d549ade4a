//! Parsing of signed tokens (RFC 7515). A token's statements about itself are only compared, never followed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Maximum length of a token in bytes, as documented in docs/oauth.md. Tokens of users in many groups have some kilobytes.
const MAX_TOKEN: usize = 64 * 1024;

/// An accepted algorithm.
#[derive(Clone, Copy)]
struct Taken {
    name: &'static str,
    algorithm: Algorithm,
    key: KeyKind,
}

/// The type of its keys (RFC 7518 6, RFC 8037 2).
#[derive(Clone, Copy)]
enum KeyKind {
    Rsa,
    Curve(&'static str),
    Edwards,
}

/// The accepted algorithms (O-5; RFC 8725 3.1). No HMAC, whose secret would be the public key, and no `none`.
const TAKEN: [Taken; 10] = [
    Taken::new("RS256", Algorithm::RS256, KeyKind::Rsa),
    Taken::new("RS384", Algorithm::RS384, KeyKind::Rsa),
    Taken::new("RS512", Algorithm::RS512, KeyKind::Rsa),
    Taken::new("PS256", Algorithm::PS256, KeyKind::Rsa),
    Taken::new("PS384", Algorithm::PS384, KeyKind::Rsa),
    Taken::new("PS512", Algorithm::PS512, KeyKind::Rsa),
    Taken::new("ES256", Algorithm::ES256, KeyKind::Curve("P-256")),
    Taken::new("ES384", Algorithm::ES384, KeyKind::Curve("P-384")),
    Taken::new("EdDSA", Algorithm::EdDSA, KeyKind::Edwards),
    // The same under the name that fixes the curve (RFC 9864).
    Taken::new("Ed25519", Algorithm::EdDSA, KeyKind::Edwards),
];

impl Taken {
    const fn new(name: &'static str, algorithm: Algorithm, key: KeyKind) -> Self {
        Self {
            name,
            algorithm,
            key,
        }
    }
}

/// A token with a usable header. Nothing in it is verified.
pub(crate) struct Token<'t> {
    taken: Taken,
    key_id: Option<String>,
    message: &'t str,
    payload: &'t str,
    signature: &'t str,
}

/// The header members in use. `jku`, `jwk`, `x5u` and `x5c` are ignored: keys come from the issuer's key set.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    /// Critical extensions; none is supported.
    crit: Option<Value>,
}

impl<'t> Token<'t> {
    /// Parses a token.
    ///
    /// # Errors
    /// The problem with its format, type or algorithm.
    pub(crate) fn parse(token: &'t str) -> Result<Self, &'static str> {
        const MALFORMED: &str = "its id token is not a signed JWT";
        if token.len() > MAX_TOKEN {
            return Err("its id token is too large");
        }
        let (message, signature) = token.rsplit_once('.').ok_or(MALFORMED)?;
        let (header, payload) = message.split_once('.').ok_or(MALFORMED)?;
        let header: Map<String, Value> = json(header).ok_or(MALFORMED)?;
        // Parsed as a map first, so that an array of the members in order is not accepted as a header.
        let header = Header::deserialize(Value::Object(header)).map_err(|_form| MALFORMED)?;
        if header.crit.is_some() {
            return Err("its id token requires an unsupported extension");
        }
        // Other tokens of an issuer state their type (RFC 8725 3.11): `at+jwt`, `logout+jwt`.
        if header.typ.is_some_and(|typ| !is_jwt(&typ)) {
            return Err("its id token has another token type");
        }
        let taken = TAKEN
            .into_iter()
            .find(|taken| taken.name == header.alg)
            .ok_or("its id token is signed with an unsupported algorithm")?;
        Ok(Self {
            taken,
            key_id: header.kid,
            message,
            payload,
            signature,
        })
    }

    /// Returns the claims. Call it only after [`Token::is_signed_by`] has returned true.
    pub(crate) fn claims(&self) -> Option<Map<String, Value>> {
        json(self.payload)
    }

    /// Whether this key of the issuer could have signed the token, by its id, type and use.
    pub(crate) fn fits(&self, key: &Map<String, Value>) -> bool {
        let says = |name: &str, expected: &str| key.get(name).is_none_or(|said| said == expected);
        let may_verify = key.get("key_ops").is_none_or(|ops| {
            ops.as_array()
                .is_some_and(|ops| ops.iter().any(|op| op == "verify"))
        });
        self.key_id
            .as_ref()
            .is_none_or(|id| key.get("kid").is_some_and(|kid| kid == id))
            && says("use", "sig")
            && says("alg", self.taken.name)
            && may_verify
            && self.decoding_key(key).is_some()
    }

    /// Whether the signature was made with this key.
    pub(crate) fn is_signed_by(&self, key: &Map<String, Value>) -> bool {
        let Some(key) = self.decoding_key(key) else {
            return false;
        };
        let message = self.message.as_bytes();
        jsonwebtoken::crypto::verify(self.signature, message, &key, self.taken.algorithm)
            .unwrap_or(false)
    }

    /// Returns the key for the algorithm; `None` if the key has another type.
    fn decoding_key(&self, key: &Map<String, Value>) -> Option<DecodingKey> {
        let member = |name: &str| key.get(name).and_then(Value::as_str);
        let is = |name: &str, expected: &str| member(name) == Some(expected);
        match self.taken.key {
            KeyKind::Rsa if is("kty", "RSA") => {
                DecodingKey::from_rsa_components(member("n")?, member("e")?).ok()
            }
            KeyKind::Curve(curve) if is("kty", "EC") && is("crv", curve) => {
                DecodingKey::from_ec_components(member("x")?, member("y")?).ok()
            }
            KeyKind::Edwards if is("kty", "OKP") && is("crv", "Ed25519") => {
                DecodingKey::from_ed_components(member("x")?).ok()
            }
            KeyKind::Rsa | KeyKind::Curve(_) | KeyKind::Edwards => None,
        }
    }
}

/// Whether a `typ` is that of a JWT. A type without a slash is a subtype of `application/` (RFC 7515 4.1.9).
fn is_jwt(typ: &str) -> bool {
    ["JWT", "application/jwt"]
        .iter()
        .any(|known| typ.eq_ignore_ascii_case(known))
}

/// Decodes a part of a token: JSON in base64url.
fn json(part: &str) -> Option<Map<String, Value>> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    serde_json::from_slice(&bytes).ok()
}
