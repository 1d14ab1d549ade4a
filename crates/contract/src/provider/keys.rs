//! The keys of a provider, and tokens with valid or invalid signatures.

use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaKeyPair,
};
use aws_lc_rs::{hmac, rsa};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

/// A signing algorithm of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignsBy {
    /// ECDSA on P-256.
    Es256,
    /// RSA, PKCS #1 v1.5.
    Rs256,
    /// RSA-PSS, with the same key.
    Ps256,
    /// Ed25519.
    EdDsa,
}

impl SignsBy {
    const fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::EdDsa => "EdDSA",
        }
    }
}

/// The signature of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signature {
    /// By the provider's key.
    Right,
    /// By an unpublished key of the same algorithm.
    Strangers,
    /// HMAC-SHA-256 with the published key as the secret, for verifiers that confuse the two.
    HmacOfPublicKey,
    /// Empty.
    Empty,
    /// With one bit flipped.
    Broken,
    /// Over other claims.
    OfOtherClaims,
}

/// The keys of a provider at one time.
#[derive(Debug)]
pub(super) struct Keys {
    /// The suffix of the key names.
    generation: u32,
    es256: EcdsaKeyPair,
    ed: Ed25519KeyPair,
    /// Generated on first use: finding the primes takes a good part of a second.
    rsa: Option<RsaKeyPair>,
}

impl Keys {
    pub(super) fn generate(generation: u32) -> Self {
        let pairs = (
            EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING),
            Ed25519KeyPair::generate(),
        );
        let (Ok(es256), Ok(ed)) = pairs else {
            panic!("key generation failed");
        };
        Self {
            generation,
            es256,
            ed,
            rsa: None,
        }
    }

    pub(super) fn next(&self) -> Self {
        Self::generate(self.generation + 1)
    }

    pub(super) fn replaced(&self) -> Self {
        Self::generate(self.generation)
    }

    /// Generates what this algorithm needs.
    pub(super) fn prepare(&mut self, by: SignsBy) {
        if matches!(by, SignsBy::Rs256 | SignsBy::Ps256) && self.rsa.is_none() {
            self.rsa = RsaKeyPair::generate(KeySize::Rsa2048).ok();
        }
    }

    /// The key id for an algorithm.
    pub(super) fn id(&self, by: SignsBy) -> String {
        let key = match by {
            SignsBy::Es256 => "ec",
            SignsBy::EdDsa => "ed",
            SignsBy::Rs256 | SignsBy::Ps256 => "rsa",
        };
        format!("{key}-{}", self.generation)
    }

    /// The public keys. The RSA key has no `alg`, because it serves two.
    pub(super) fn public(&self) -> Vec<Value> {
        let point = self.es256.public_key().as_ref();
        let (x, y) = point
            .get(1..)
            .and_then(|coordinates| coordinates.split_at_checked(32))
            .unwrap_or_default();
        let mut keys = vec![
            json!({"kty": "EC", "crv": "P-256", "x": base64(x), "y": base64(y),
                "kid": self.id(SignsBy::Es256), "use": "sig", "alg": "ES256"}),
            json!({"kty": "OKP", "crv": "Ed25519", "x": base64(self.ed.public_key().as_ref()),
                "kid": self.id(SignsBy::EdDsa), "use": "sig", "alg": "EdDSA"}),
        ];
        if let Some(rsa) = &self.rsa {
            let (n, e) = numbers(rsa);
            keys.push(json!({"kty": "RSA", "n": base64(&n), "e": base64(&e),
                "kid": self.id(SignsBy::Rs256), "use": "sig"}));
        }
        keys
    }

    /// A token with this header and this kind of signature.
    pub(super) fn token(
        &self,
        header: &Map<String, Value>,
        claims: &Map<String, Value>,
        by: SignsBy,
        signature: Signature,
    ) -> String {
        let part = |map: &Map<String, Value>| base64(json!(map).to_string().as_bytes());
        let message = format!("{}.{}", part(header), part(claims));
        let signature = match signature {
            Signature::Right => self.sign(by, message.as_bytes()),
            Signature::Strangers => {
                let mut stranger = Self::generate(self.generation);
                stranger.prepare(by);
                stranger.sign(by, message.as_bytes())
            }
            Signature::HmacOfPublicKey => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, &self.published(by));
                hmac::sign(&key, message.as_bytes()).as_ref().to_vec()
            }
            Signature::Empty => Vec::new(),
            Signature::Broken => {
                let mut signature = self.sign(by, message.as_bytes());
                if let Some(last) = signature.last_mut() {
                    *last ^= 1;
                }
                signature
            }
            Signature::OfOtherClaims => self.sign(by, part(header).as_bytes()),
        };
        format!("{message}.{}", base64(&signature))
    }

    fn sign(&self, by: SignsBy, message: &[u8]) -> Vec<u8> {
        #[expect(
            clippy::disallowed_methods,
            reason = "a parameter that the library ignores; it draws its nonces itself"
        )]
        let random = aws_lc_rs::rand::SystemRandom::new();
        let by_rsa = |padding| {
            let rsa = self.rsa.as_ref()?;
            let mut signature = vec![0; rsa.public_modulus_len()];
            rsa.sign(padding, &random, message, &mut signature).ok()?;
            Some(signature)
        };
        let signature = match by {
            SignsBy::Es256 => {
                let signature = self.es256.sign(&random, message).ok();
                signature.map(|signature| signature.as_ref().to_vec())
            }
            SignsBy::EdDsa => Some(self.ed.sign(message).as_ref().to_vec()),
            SignsBy::Rs256 => by_rsa(&RSA_PKCS1_SHA256),
            SignsBy::Ps256 => by_rsa(&RSA_PSS_SHA256),
        };
        let Some(signature) = signature else {
            panic!("cannot sign by {by:?}");
        };
        signature
    }

    /// The public key bytes that a confused verifier would take for an HMAC secret.
    fn published(&self, by: SignsBy) -> Vec<u8> {
        match by {
            SignsBy::Es256 => self.es256.public_key().as_ref().to_vec(),
            SignsBy::EdDsa => self.ed.public_key().as_ref().to_vec(),
            SignsBy::Rs256 | SignsBy::Ps256 => {
                let public = self
                    .rsa
                    .as_ref()
                    .map(|rsa| rsa.public_key().as_ref().to_vec());
                public.unwrap_or_default()
            }
        }
    }
}

/// Modulus and exponent, big-endian.
fn numbers(pair: &rsa::KeyPair) -> (Vec<u8>, Vec<u8>) {
    let public = pair.public_key();
    (
        public.modulus().big_endian_without_leading_zero().to_vec(),
        public.exponent().big_endian_without_leading_zero().to_vec(),
    )
}

/// The header of a token of this algorithm.
pub(super) fn header(by: SignsBy, id: &str) -> Map<String, Value> {
    Map::from_iter([
        ("alg".to_owned(), json!(by.name())),
        ("kid".to_owned(), json!(id)),
    ])
}

fn base64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
