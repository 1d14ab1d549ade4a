//! Public keys as JWKs (RFC 7517), and signature verification with them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::DecodingKey;
use serde_json::{Value, json};
use vestry_domain::signing_key::{Algorithm, SigningKey};

/// Returns a P-256 key (RFC 7518 section 6.2.1).
pub(crate) fn p256(kid: &str, x: &[u8], y: &[u8]) -> Value {
    json!({
        "kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y),
        "kid": kid, "alg": Algorithm::ES256.as_str(), "use": "sig",
    })
}

/// Returns an RSA key (RFC 7518 section 6.3.1); both numbers are big-endian without leading zeros.
pub(crate) fn rsa(kid: &str, modulus: &[u8], exponent: &[u8]) -> Value {
    json!({
        "kty": "RSA", "n": encode(modulus), "e": encode(exponent),
        "kid": kid, "alg": Algorithm::RS256.as_str(), "use": "sig",
    })
}

/// Returns an Ed25519 key (RFC 8037 section 2).
pub(crate) fn ed25519(kid: &str, x: &[u8]) -> Value {
    json!({
        "kty": "OKP", "crv": "Ed25519", "x": encode(x),
        "kid": kid, "alg": Algorithm::EdDSA.as_str(), "use": "sig",
    })
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Whether the signature of the message is valid under the key, by the key's own algorithm. False also if the public key cannot be parsed.
pub(crate) fn verifies(key: &SigningKey, message: &[u8], signature: &[u8]) -> bool {
    let Some(public) = decoding_key(key.algorithm, &key.public_jwk) else {
        return false;
    };
    let algorithm = match key.algorithm {
        Algorithm::ES256 => jsonwebtoken::Algorithm::ES256,
        Algorithm::RS256 => jsonwebtoken::Algorithm::RS256,
        Algorithm::EdDSA => jsonwebtoken::Algorithm::EdDSA,
    };
    jsonwebtoken::crypto::verify(&encode(signature), message, &public, algorithm).unwrap_or(false)
}

/// Reads the members that the algorithm requires, whatever type the JWK claims; a JWK of another type lacks them or names its type.
fn decoding_key(algorithm: Algorithm, jwk: &Value) -> Option<DecodingKey> {
    let member = |name: &str| jwk.get(name).and_then(Value::as_str);
    let is = |name: &str, expected: &str| member(name) == Some(expected);
    match algorithm {
        Algorithm::ES256 if is("kty", "EC") && is("crv", "P-256") => {
            DecodingKey::from_ec_components(member("x")?, member("y")?).ok()
        }
        Algorithm::RS256 if is("kty", "RSA") => {
            DecodingKey::from_rsa_components(member("n")?, member("e")?).ok()
        }
        Algorithm::EdDSA if is("kty", "OKP") && is("crv", "Ed25519") => {
            DecodingKey::from_ed_components(member("x")?).ok()
        }
        Algorithm::ES256 | Algorithm::RS256 | Algorithm::EdDSA => None,
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wycheproof;
