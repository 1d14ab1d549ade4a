//! Signed tokens, taken apart (RFC 7515). What a token says about itself is only ever compared, never followed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Longest token that is looked at, in bytes, which docs/oauth.md names. Tokens of people in many groups have some kilobytes.
const TOKEN_MAX: usize = 64 * 1024;

/// An algorithm that is taken.
#[derive(Clone, Copy)]
struct Taken {
    name: &'static str,
    algorithm: Algorithm,
    key: KeyKind,
}

/// What a key for it is (RFC 7518 6, RFC 8037 2).
#[derive(Clone, Copy)]
enum KeyKind {
    Rsa,
    Curve(&'static str),
    Edwards,
}

/// The algorithms that are taken (O-5; RFC 8725 3.1). No HMAC, for which the public key would be the secret, and no `none`.
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
    // The same by the name that leaves no other curve open (RFC 9864).
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

/// A token whose header can be worked with. Nothing of it is proved.
pub(crate) struct Token<'t> {
    taken: Taken,
    key_id: Option<String>,
    message: &'t str,
    payload: &'t str,
    signature: &'t str,
}

/// The members of a header that are looked at. `jku`, `jwk`, `x5u` and `x5c` are not: keys come from the issuer's key set.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    /// Extensions that must be understood; none is.
    crit: Option<Value>,
}

impl<'t> Token<'t> {
    /// Takes a token apart.
    ///
    /// # Errors
    /// What is wrong with its form, its type or its algorithm.
    pub(crate) fn parse(token: &'t str) -> Result<Self, &'static str> {
        const MALFORMED: &str = "its id token is not a signed JWT";
        if token.len() > TOKEN_MAX {
            return Err("its id token is too large");
        }
        let (message, signature) = token.rsplit_once('.').ok_or(MALFORMED)?;
        let (header, payload) = message.split_once('.').ok_or(MALFORMED)?;
        let header: Map<String, Value> = json(header).ok_or(MALFORMED)?;
        // By way of a map, so that an array of the members in their order is not a header.
        let header = Header::deserialize(Value::Object(header)).map_err(|_form| MALFORMED)?;
        if header.crit.is_some() {
            return Err("its id token demands an extension");
        }
        // Other tokens of the issuer say what they are (RFC 8725 3.11): `at+jwt`, `logout+jwt`.
        if header.typ.is_some_and(|typ| !is_jwt(&typ)) {
            return Err("its id token is a token of another kind");
        }
        let taken = TAKEN
            .into_iter()
            .find(|taken| taken.name == header.alg)
            .ok_or("its id token is signed by an algorithm that is not taken")?;
        Ok(Self {
            taken,
            key_id: header.kid,
            message,
            payload,
            signature,
        })
    }

    /// The claims. Whoever calls this has seen [`Token::is_signed_by`] say yes.
    pub(crate) fn claims(&self) -> Option<Map<String, Value>> {
        json(self.payload)
    }

    /// Whether a key of the issuer's may have signed it: its name, its kind, its use.
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

    /// Whether the signature is one of this key.
    pub(crate) fn is_signed_by(&self, key: &Map<String, Value>) -> bool {
        let Some(key) = self.decoding_key(key) else {
            return false;
        };
        let message = self.message.as_bytes();
        jsonwebtoken::crypto::verify(self.signature, message, &key, self.taken.algorithm)
            .unwrap_or(false)
    }

    /// The key for the algorithm, read as what the algorithm needs: a key of another kind is none.
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

/// Whether a `typ` is that of a JWT. A type without a slash stands for one below `application/` (RFC 7515 4.1.9).
fn is_jwt(typ: &str) -> bool {
    ["JWT", "application/jwt"]
        .iter()
        .any(|known| typ.eq_ignore_ascii_case(known))
}

/// A part of a token: JSON in base64url.
fn json(part: &str) -> Option<Map<String, Value>> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    serde_json::from_slice(&bytes).ok()
}
