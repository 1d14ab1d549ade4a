//! `/v1/manage/apps/{app_id}/{environment}/signing_keys`

pub(crate) mod list;
pub(crate) mod revoke;
pub(crate) mod rotate;

use utoipa::ToSchema;
use utoipa::openapi::Object;

/// A key that signs session JWTs, without its private half.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a view")]
pub(crate) struct SigningKey {
    /// The id, which is the `kid` of JWTs.
    #[schema(pattern = "^jwk_[0-9A-Za-z]{27}$")]
    id: String,
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    #[schema(pattern = "^(test|live)$")]
    environment: String,
    algorithm: String,
    /// The public key as a JWK (RFC 7517).
    public_jwk: Object,
    created_at: i64,
    /// When it begins to sign, in Unix seconds.
    active_from: i64,
}

/// The signing keys of an environment.
#[derive(ToSchema)]
#[schema(as = SigningKeyList)]
#[expect(dead_code, reason = "describes a response")]
pub(crate) struct SigningKeys {
    /// Oldest first.
    signing_keys: Vec<SigningKey>,
}
