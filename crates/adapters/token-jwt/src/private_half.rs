//! The private halves of signing keys.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    RsaKeyPair,
};
use serde_json::Value;
use vestry_domain::Secret;
use vestry_domain::signing_key::Algorithm;

use crate::{jwk, low_s};

/// A private key ready for use. The crypto library wipes it on drop.
///
/// Signing bypasses the JWT library, which parses and checks the key for every token; for RSA that costs more than the signature.
pub(crate) enum PrivateHalf {
    Es256(EcdsaKeyPair),
    Rs256(Box<RsaKeyPair>),
    EdDsa(Ed25519KeyPair),
}

/// Copies the key out of the library's buffers, which are wiped too.
fn copy(pkcs8: &[u8]) -> Secret<Vec<u8>> {
    Secret::new(pkcs8.to_vec())
}

impl PrivateHalf {
    /// Generates a key, and returns it with its PKCS#8 encoding.
    pub(crate) fn generate(algorithm: Algorithm) -> Option<(Self, Secret<Vec<u8>>)> {
        match algorithm {
            Algorithm::ES256 => {
                let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).ok()?;
                let pkcs8 = copy(pair.to_pkcs8v1().ok()?.as_ref());
                Some((Self::Es256(pair), pkcs8))
            }
            Algorithm::RS256 => {
                let pair = RsaKeyPair::generate(KeySize::Rsa2048).ok()?;
                let pkcs8 = copy(AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).ok()?.as_ref());
                Some((Self::Rs256(Box::new(pair)), pkcs8))
            }
            Algorithm::EdDSA => {
                let pair = Ed25519KeyPair::generate().ok()?;
                let pkcs8 = copy(pair.to_pkcs8().ok()?.as_ref());
                Some((Self::EdDsa(pair), pkcs8))
            }
        }
    }

    /// Parses a key; `None` if the bytes are not a key of the algorithm.
    pub(crate) fn open(algorithm: Algorithm, pkcs8: &[u8]) -> Option<Self> {
        match algorithm {
            Algorithm::ES256 => EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8)
                .ok()
                .map(Self::Es256),
            Algorithm::RS256 => RsaKeyPair::from_pkcs8(pkcs8)
                .ok()
                .map(|pair| Self::Rs256(Box::new(pair))),
            Algorithm::EdDSA => Ed25519KeyPair::from_pkcs8(pkcs8).ok().map(Self::EdDsa),
        }
    }

    pub(crate) const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Es256(_) => Algorithm::ES256,
            Self::Rs256(_) => Algorithm::RS256,
            Self::EdDsa(_) => Algorithm::EdDSA,
        }
    }

    /// Returns the complete public key.
    pub(crate) fn public_jwk(&self, kid: &str) -> Value {
        match self {
            Self::Es256(pair) => {
                // Uncompressed point (SEC 1 section 2.3.3): 0x04, x, y.
                let point = pair.public_key().as_ref();
                let (x, y) = point
                    .get(1..)
                    .and_then(|coordinates| coordinates.split_at_checked(32))
                    .unwrap_or_default();
                jwk::p256(kid, x, y)
            }
            Self::Rs256(pair) => {
                let public = pair.public_key();
                jwk::rsa(
                    kid,
                    public.modulus().big_endian_without_leading_zero(),
                    public.exponent().big_endian_without_leading_zero(),
                )
            }
            Self::EdDsa(pair) => jwk::ed25519(kid, pair.public_key().as_ref()),
        }
    }

    /// Returns the signature in its token format (RFC 7518 section 3, RFC 8037 section 3.1).
    pub(crate) fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the library ignores this parameter and generates its own nonces"
        )]
        let random = aws_lc_rs::rand::SystemRandom::new();
        match self {
            Self::Es256(pair) => {
                let signature = pair.sign(&random, message).ok()?;
                low_s::lowered(signature.as_ref()).map(Vec::from)
            }
            Self::Rs256(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .ok()?;
                Some(signature)
            }
            Self::EdDsa(pair) => Some(pair.try_sign(message).ok()?.as_ref().to_vec()),
        }
    }
}
