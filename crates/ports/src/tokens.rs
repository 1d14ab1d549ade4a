//! Session JWTs.

use serde_json::{Map, Value};
use vestry_domain::ids::SigningKeyId;
use vestry_domain::signing_key::{Algorithm, SigningKey};
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use crate::custody::CustodyError;

/// Why a presented token is not one of ours. The reasons are for logs only in kind, never with the token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Not a JWT of ours: form, header, algorithm, `kid`, signature or a claim's type.
    #[error("the token is not authentic")]
    NotAuthentic,
    /// The signing key could not be opened.
    #[error(transparent)]
    Custody(#[from] CustodyError),
}

/// A token of ours.
#[derive(Debug, Clone, PartialEq)]
pub struct AuthenticToken {
    /// The key that signed it.
    pub key: SigningKeyId,
    /// What it claims.
    pub claims: Map<String, Value>,
}

/// Makes and checks the JWTs of sessions. Knows nothing about sessions: it moves claims.
#[port]
pub trait TokenSigner: Send + Sync {
    /// Makes a signing key for a world; nothing is stored.
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

    /// Signs claims, the text of a JSON object, as a compact JWS with header `{alg, kid, typ: "JWT"}` (RFC 7515, RFC 7519).
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn sign(&self, key: &SigningKey, claims: &str) -> Result<String, CustodyError>;

    /// Checks form, header and signature against exactly these keys and returns the claims, with the key that signed them (S-8,
    /// S-9).
    ///
    /// Refused before any key is used: another `typ`, an `alg` other than the key's, `jku`, `jwk`, `x5u`, `x5c` or
    /// `crit` in the header. Claims are **not** judged here, `exp` least of all: an expired token still names its session.
    ///
    /// # Errors
    /// [`TokenError::NotAuthentic`].
    fn authenticate(&self, token: &str, keys: &[SigningKey]) -> Result<AuthenticToken, TokenError>;
}
