//! An outside party that seals private keys and opens exported ones.
//!
//! It uses the same library as the service. Agreement with other implementations is tested by the custody vectors and `cargo xtask
//! interop`.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};

use hpke::aead::{Aead, AesGcm256, ChaCha20Poly1305};
use hpke::kdf::HkdfSha256;
use hpke::kem::{DhP256HkdfSha256, X25519HkdfSha256};
use hpke::rand_core::{TryCryptoRng, TryRng};
use hpke::{
    Deserializable, HpkeError, Kem as Mechanism, OpModeR, OpModeS, Serializable, single_shot_open,
    single_shot_seal_with_rng,
};
use vestry_domain::key_transfer::{AeadAlgorithm, ExportedKey, Kem, SealedMessage};

use crate::rng::{self, Rng};

/// Parameters of sealing that may differ from the usual ones.
#[derive(Debug, Clone, Copy)]
pub struct Manner<'a> {
    /// The AEAD algorithm.
    pub aead: AeadAlgorithm,
    /// Whether the message names the algorithm.
    pub is_named: bool,
    /// The `info` of RFC 9180.
    pub info: &'a [u8],
    /// The associated data.
    pub aad: &'a [u8],
}

impl Default for Manner<'_> {
    fn default() -> Self {
        Self {
            aead: AeadAlgorithm::ChaCha20Poly1305,
            is_named: false,
            info: &[],
            aad: &[],
        }
    }
}

/// Seals to a public key; one of 65 bytes is a P-256 key.
///
/// # Panics
/// If the public key is invalid.
pub fn seal(public_key: &[u8], plaintext: &[u8], manner: Manner<'_>) -> SealedMessage {
    let kem = if public_key.len() == 65 {
        Kem::P256
    } else {
        Kem::X25519
    };
    let sealed = match (kem, manner.aead) {
        (Kem::X25519, AeadAlgorithm::ChaCha20Poly1305) => {
            sealed::<ChaCha20Poly1305, X25519HkdfSha256>(public_key, plaintext, manner)
        }
        (Kem::X25519, AeadAlgorithm::Aes256Gcm) => {
            sealed::<AesGcm256, X25519HkdfSha256>(public_key, plaintext, manner)
        }
        (Kem::P256, AeadAlgorithm::ChaCha20Poly1305) => {
            sealed::<ChaCha20Poly1305, DhP256HkdfSha256>(public_key, plaintext, manner)
        }
        (Kem::P256, AeadAlgorithm::Aes256Gcm) => {
            sealed::<AesGcm256, DhP256HkdfSha256>(public_key, plaintext, manner)
        }
    };
    let (encapsulated_key, ciphertext) = match sealed {
        Ok(sealed) => sealed,
        Err(error) => panic!("cannot seal to this public key: {error}"),
    };
    SealedMessage {
        encapsulated_key,
        ciphertext,
        aead: manner.is_named.then_some(manner.aead),
        info: manner.info.to_vec(),
        aad: manner.aad.to_vec(),
    }
}

fn sealed<A: Aead, K: Mechanism>(
    public_key: &[u8],
    plaintext: &[u8],
    manner: Manner<'_>,
) -> Result<(Vec<u8>, Vec<u8>), HpkeError> {
    let recipient = K::PublicKey::from_bytes(public_key)?;
    let (encapsulated, ciphertext) = single_shot_seal_with_rng::<A, HkdfSha256, K>(
        &OpModeS::Base,
        &recipient,
        manner.info,
        plaintext,
        manner.aad,
        &mut Drawn::fresh(),
    )?;
    Ok((encapsulated.to_bytes().to_vec(), ciphertext))
}

/// A recipient of exported keys.
pub struct Recipient {
    private: <X25519HkdfSha256 as Mechanism>::PrivateKey,
    /// The public key; 32 bytes.
    pub public_key: Vec<u8>,
}

impl Recipient {
    /// A recipient with a fresh key pair.
    pub fn fresh() -> Self {
        let (private, public) = X25519HkdfSha256::gen_keypair_with_rng(&mut Drawn::fresh());
        Self {
            private,
            public_key: public.to_bytes().to_vec(),
        }
    }

    /// The exported plaintext, or `None` if it does not open.
    pub fn open(&self, exported: &ExportedKey) -> Option<Vec<u8>> {
        type Encapsulated = <X25519HkdfSha256 as Mechanism>::EncappedKey;
        let encapsulated = Encapsulated::from_bytes(&exported.encapsulated_key).ok()?;
        single_shot_open::<ChaCha20Poly1305, HkdfSha256, X25519HkdfSha256>(
            &OpModeR::Base,
            &self.private,
            &encapsulated,
            &[],
            &exported.ciphertext,
            &[],
        )
        .ok()
    }
}

/// The test generator behind the library's interface. It is predictable, so it must be used nowhere else.
struct Drawn(Rng);

impl Drawn {
    /// A generator that differs from all others of the process, even with a given seed.
    fn fresh() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(Rng::from_seed(rng::seed().wrapping_add(number)))
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill(&mut bytes);
        bytes
    }
}

impl TryRng for Drawn {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_le_bytes(self.bytes()))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_le_bytes(self.bytes()))
    }

    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(buffer);
        Ok(())
    }
}

impl TryCryptoRng for Drawn {}
