//! Session JWTs.

use serde_json::{Map, Value};
use vestry_domain::ids::SigningKeyId;
use vestry_domain::signing_key::{Algorithm, SigningKey};
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use crate::custody::CustodyError;

/// The reason that a token was rejected. Logs may contain the reason, but never the token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Not a JWT of this service: its form, header, algorithm, `kid`, signature or the type of a claim is wrong.
    #[error("the token is not authentic")]
    NotAuthentic,
    /// The signing key could not be decrypted.
    #[error(transparent)]
    Custody(#[from] CustodyError),
}

/// A verified token of this service.
#[derive(Debug, Clone, PartialEq)]
pub struct AuthenticToken {
    /// The key that signed it.
    pub key: SigningKeyId,
    /// Its claims.
    pub claims: Map<String, Value>,
}

/// Creates and verifies session JWTs. It handles only claims and knows nothing about sessions.
#[port]
pub trait TokenSigner: Send + Sync {
    /// Generates a signing key for a world; nothing is stored.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn generate(
        &self,
        id: SigningKeyId,
        world: World,
        algorithm: Algorithm,
        created_at: Timestamp,
        active_from: Timestamp,
    ) -> Result<SigningKey, CustodyError>;

    /// Signs claims, given as the text of a JSON object, as a compact JWS with header `{alg, kid, typ: "JWT"}` (RFC 7515, RFC 7519).
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn sign(&self, key: &SigningKey, claims: &str) -> Result<String, CustodyError>;

    /// Verifies form, header and signature against exactly these keys. Returns the claims with the key that signed them (S-8, S-9).
    ///
    /// Before any key is used, it rejects another `typ`, an `alg` other than the key's, and `jku`, `jwk`, `x5u`, `x5c` or `crit` in the
    /// header. Claims are **not** checked here, in particular not `exp`: an expired token still identifies its session.
    ///
    /// # Errors
    /// [`TokenError::NotAuthentic`].
    fn authenticate(&self, token: &str, keys: &[SigningKey]) -> Result<AuthenticToken, TokenError>;
}
