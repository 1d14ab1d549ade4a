//! Key sets, for backends that verify session JWTs on their own.

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
    /// Keys that sign now, signed recently, or will sign soon. Select the key by the `kid` of the token.
    #[schema(value_type = Vec<Jwk>)]
    keys: Vec<Value>,
}

/// Public half of a signing key (RFC 7517, section 4). Members other than these depend on `kty`.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "describes an object that the token adapter builds"
)]
struct Jwk {
    /// Key type: `EC`, `RSA` or `OKP`.
    #[schema(pattern = "^(EC|RSA|OKP)$")]
    kty: String,
    /// Id of the key, which is the `kid` of the tokens it verifies.
    #[schema(pattern = "^jwk_[0-9A-Za-z]{27}$")]
    kid: String,
    /// The only algorithm that the key is used with.
    #[schema(pattern = "^(ES256|RS256|EdDSA)$")]
    alg: String,
    /// Use of the key; always `sig`.
    #[schema(rename = "use", pattern = "^sig$")]
    usage: String,
    /// Curve of an `EC` or `OKP` key.
    #[schema(required = false)]
    crv: String,
    /// X coordinate of an `EC` key, or the public key of an `OKP` key, in base64url.
    #[schema(required = false)]
    x: String,
    /// Y coordinate of an `EC` key, in base64url.
    #[schema(required = false)]
    y: String,
    /// Modulus of an `RSA` key, in base64url.
    #[schema(required = false)]
    n: String,
    /// Exponent of an `RSA` key, in base64url.
    #[schema(required = false)]
    e: String,
}
