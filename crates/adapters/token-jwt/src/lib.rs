//! The TokenSigner port: session JWTs and their keys.
//!
//! Tokens are compact JWS (RFC 7515) with a header of exactly three members, `alg`, `kid` and `typ`. The order of the checks leaves a token
//! no choice. The header must have that format, its `kid` selects one of the keys that the caller provided, and the key alone determines
//! the algorithm. This crate supports neither HMAC nor `none`.
//!
//! An accepted token has only one spelling. Base64url is accepted only without padding and without stray bits. Of the two valid ECDSA
//! signatures of a message, only the one with the low `s` is created and accepted.

mod header;
mod jwk;
mod low_s;
mod opened;
mod private_half;
mod signatures;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use vestry_domain::envelope::{Place, SecretKind};
use vestry_domain::ids::SigningKeyId;
use vestry_domain::signing_key::{Algorithm, SigningKey};
use vestry_domain::{Timestamp, World};
use vestry_ports::custody::{CustodyError, Sealer};
use vestry_ports::port;
use vestry_ports::tokens::{AuthenticToken, TokenError, TokenSigner};

use header::Header;
use opened::{OpenKey, OpenKeys};
use private_half::PrivateHalf;
use signatures::Signatures;

/// Maximum length of a token in bytes. A token contains its session twice, with up to [`SESSION_BYTES`] each time, and some hundred bytes
/// of other claims; in base64 that is some 44 KiB. Longer ones are neither created nor parsed.
///
/// [`SESSION_BYTES`]: vestry_domain::session::SESSION_BYTES
pub const MAX_TOKEN: usize = 48 * 1024;

/// The base64 length of all signatures except those of RSA, which are 64 bytes.
const SIGNATURE_ROOM: usize = 86;

/// Creates and verifies session JWTs.
pub struct JwtSigner {
    sealer: Arc<dyn Sealer>,
    opened: OpenKeys,
    signatures: Signatures,
}

impl JwtSigner {
    /// Creates a signer whose private keys are encrypted by the given sealer.
    pub fn new(sealer: Arc<dyn Sealer>) -> Self {
        Self {
            sealer,
            opened: OpenKeys::default(),
            signatures: Signatures::default(),
        }
    }

    /// Returns the private half of a key, cached or decrypted.
    async fn open(&self, key: &SigningKey) -> Result<Arc<OpenKey>, CustodyError> {
        if let Some(opened) = self.opened.get(key) {
            return Ok(opened);
        }
        let owner = key.id.to_string();
        let pkcs8 = self
            .sealer
            .open(place(key.world, &owner), &key.private)
            .await?;
        let opened = PrivateHalf::open(key.algorithm, pkcs8.expose())
            .filter(|half| half.public_jwk(&owner) == key.public_jwk)
            .map(|half| OpenKey::new(Header::of(key).encoded(), half))
            .ok_or_else(|| altered(key))?;
        Ok(self.opened.keep(key, opened))
    }
}

fn place(world: World, owner: &str) -> Place<'_> {
    Place {
        world,
        kind: SecretKind::SigningKey,
        owner,
    }
}

/// Returns the error for a private half that is not a key of the row's algorithm, or does not match the row's public half. Its signatures
/// would not verify with the published key.
fn altered(key: &SigningKey) -> CustodyError {
    tracing::error!(kid = %key.id, "stored signing key does not match its public half: altered in the database");
    CustodyError::Tampered {
        place: "signing key",
    }
}

#[port]
impl TokenSigner for JwtSigner {
    async fn generate(
        &self,
        id: SigningKeyId,
        world: World,
        algorithm: Algorithm,
        created_at: Timestamp,
        active_from: Timestamp,
    ) -> Result<SigningKey, CustodyError> {
        const FAILED: CustodyError = CustodyError::Failed("making a signing key");
        // Generating RSA primes takes a good part of a second.
        let (half, pkcs8) = tokio::task::spawn_blocking(move || PrivateHalf::generate(algorithm))
            .await
            .map_err(|_lost| FAILED)?
            .ok_or(FAILED)?;
        let owner = id.to_string();
        let private = self
            .sealer
            .seal(place(world, &owner), pkcs8.expose())
            .await?;
        Ok(SigningKey {
            id,
            world,
            algorithm,
            public_jwk: half.public_jwk(&owner),
            private,
            created_at,
            active_from,
        })
    }

    async fn sign(&self, key: &SigningKey, claims: &str) -> Result<String, CustodyError> {
        const FAILED: CustodyError = CustodyError::Failed("signing a token");
        let opened = self.open(key).await?;
        let room = opened.header().len() + claims.len().div_ceil(3) * 4 + 2 + SIGNATURE_ROOM;
        let mut token = String::with_capacity(room);
        token.push_str(opened.header());
        token.push('.');
        token.push_str(&URL_SAFE_NO_PAD.encode(claims));
        // A session is verified more often than it changes, and identical claims need no second signature.
        let half = opened.half();
        let sign = || half.sign(token.as_bytes());
        let signature = self.signatures.of(token.as_bytes(), sign);
        let signature = signature.ok_or(FAILED)?;
        token.push('.');
        token.push_str(&URL_SAFE_NO_PAD.encode(signature));
        if token.len() > MAX_TOKEN {
            return Err(CustodyError::Failed("the claims do not fit into a token"));
        }
        Ok(token)
    }

    fn authenticate(&self, token: &str, keys: &[SigningKey]) -> Result<AuthenticToken, TokenError> {
        authentic(token, keys).ok_or(TokenError::NotAuthentic)
    }
}

/// Returns `None` whatever is wrong, so that an attacker does not learn how far a forgery got.
fn authentic(token: &str, keys: &[SigningKey]) -> Option<AuthenticToken> {
    if token.len() > MAX_TOKEN {
        return None;
    }
    let (message, signature) = token.rsplit_once('.')?;
    let (header, payload) = message.split_once('.')?;
    let key = Header::parse(header)?.key_among(keys)?;
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    if key.algorithm == Algorithm::ES256 && !low_s::is_low(&signature) {
        return None;
    }
    if !jwk::verifies(key, message.as_bytes(), &signature) {
        return None;
    }
    // A further dot is rejected here: it is not valid base64.
    let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
    Some(AuthenticToken {
        key: key.id,
        claims: serde_json::from_slice(&payload).ok()?,
    })
}

#[cfg(test)]
mod tests;
