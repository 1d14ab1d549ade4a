//! Key sets, for whoever verifies session JWTs on their own.

pub(crate) mod of_app;
pub(crate) mod of_caller;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A JWK Set (RFC 7517, section 5).
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = JwkSet)]
pub(crate) struct KeySet {
    /// Keys that sign now, signed recently, or will sign soon. Match a token by its `kid`.
    #[schema(value_type = Vec<Jwk>)]
    keys: Vec<Value>,
}

/// The public half of a signing key (RFC 7517, section 4); which further members it has depends on `kty`.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes an object that the token adapter makes")]
struct Jwk {
    /// `EC`, `RSA` or `OKP`.
    #[schema(pattern = "^(EC|RSA|OKP)$")]
    kty: String,
    /// The `kid` of the tokens it verifies.
    #[schema(pattern = "^jwk_[0-9A-Za-z]{27}$")]
    kid: String,
    /// The one algorithm it serves.
    #[schema(pattern = "^(ES256|RS256|EdDSA)$")]
    alg: String,
    /// Always `sig`.
    #[schema(rename = "use", pattern = "^sig$")]
    usage: String,
    /// Curve of an `EC` or `OKP` key.
    #[schema(required = false)]
    crv: String,
    /// Coordinate of an `EC` or `OKP` key, base64url.
    #[schema(required = false)]
    x: String,
    /// Coordinate of an `EC` key, base64url.
    #[schema(required = false)]
    y: String,
    /// Modulus of an `RSA` key, base64url.
    #[schema(required = false)]
    n: String,
    /// Exponent of an `RSA` key, base64url.
    #[schema(required = false)]
    e: String,
}
