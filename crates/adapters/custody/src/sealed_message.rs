//! HPKE (RFC 9180) for the import and export of keys: base mode, HKDF-SHA-256, a single message with sequence number 0.

use std::convert::Infallible;

use hpke::aead::{Aead, AeadCtxS, AesGcm256, ChaCha20Poly1305};
use hpke::kdf::HkdfSha256;
use hpke::kem::{DhP256HkdfSha256, X25519HkdfSha256};
use hpke::rand_core::{TryCryptoRng, TryRng};
use hpke::{
    Deserializable, Kem as Mechanism, OpModeR, OpModeS, Serializable, setup_receiver,
    setup_sender_with_rng,
};
use vestry_domain::key_transfer::{AeadAlgorithm, ExportedKey, Kem, SealedMessage};
use vestry_ports::entropy::Entropy;
use zeroize::Zeroizing;

use crate::aead::Refused;

/// A key pair for which one message can be encrypted.
pub(crate) struct KeyPair {
    /// 32 bytes.
    pub(crate) private: Zeroizing<Vec<u8>>,
    /// 32 or 65 bytes; see [`Kem`].
    pub(crate) public: Vec<u8>,
}

impl KeyPair {
    pub(crate) fn generate(kem: Kem, entropy: &dyn Entropy) -> Self {
        match kem {
            Kem::X25519 => Self::drawn::<X25519HkdfSha256>(entropy),
            Kem::P256 => Self::drawn::<DhP256HkdfSha256>(entropy),
        }
    }

    fn drawn<K: Mechanism>(entropy: &dyn Entropy) -> Self {
        let (private, public) = K::gen_keypair_with_rng(&mut Chance(entropy));
        let mut bytes = Zeroizing::new(vec![0; K::PrivateKey::size()]);
        private.write_exact(&mut bytes);
        Self {
            private: bytes,
            public: public.to_bytes().to_vec(),
        }
    }
}

/// Decrypts a message. If it does not name its algorithm, each one is tried: under a wrong one the tag does not match.
pub(crate) fn open(
    kem: Kem,
    private_key: &[u8],
    message: &SealedMessage,
) -> Result<Zeroizing<Vec<u8>>, Refused> {
    match kem {
        Kem::X25519 => open_by::<X25519HkdfSha256>(private_key, message),
        Kem::P256 => open_by::<DhP256HkdfSha256>(private_key, message),
    }
}

fn open_by<K: Mechanism>(
    private_key: &[u8],
    message: &SealedMessage,
) -> Result<Zeroizing<Vec<u8>>, Refused> {
    let private_key = K::PrivateKey::from_bytes(private_key).map_err(refused)?;
    let encapsulated = K::EncappedKey::from_bytes(&message.encapsulated_key).map_err(refused)?;
    let algorithms = message
        .aead
        .as_ref()
        .map_or(AeadAlgorithm::ALL.as_slice(), std::slice::from_ref);
    let opened = algorithms.iter().find_map(|algorithm| {
        let opened = match algorithm {
            AeadAlgorithm::ChaCha20Poly1305 => {
                open_with::<ChaCha20Poly1305, K>(&private_key, &encapsulated, message)
            }
            AeadAlgorithm::Aes256Gcm => {
                open_with::<AesGcm256, K>(&private_key, &encapsulated, message)
            }
        };
        opened.ok()
    });
    opened.ok_or(Refused)
}

/// If the sender sends a small-order point, everyone can compute the secret; the key agreement fails (RFC 9180, 7.1.4).
fn open_with<A: Aead, K: Mechanism>(
    private_key: &K::PrivateKey,
    encapsulated: &K::EncappedKey,
    message: &SealedMessage,
) -> Result<Zeroizing<Vec<u8>>, Refused> {
    let mode = OpModeR::<K>::Base;
    let mut context =
        setup_receiver::<A, HkdfSha256, K>(&mode, private_key, encapsulated, &message.info)
            .map_err(refused)?;
    let plaintext = context.open(&message.ciphertext, &message.aad);
    plaintext.map(Zeroizing::new).map_err(refused)
}

/// The sender's side: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305, no `info`.
pub(crate) struct Sender {
    context: AeadCtxS<ChaCha20Poly1305, HkdfSha256, X25519HkdfSha256>,
    encapsulated_key: Vec<u8>,
}

impl Sender {
    /// Performs the key agreement with the holder of a 32-byte public key, before there is anything to encrypt. Small-order points are
    /// refused: anyone could read a message encrypted to one.
    pub(crate) fn new(entropy: &dyn Entropy, recipient: &[u8]) -> Result<Self, Refused> {
        let recipient =
            <X25519HkdfSha256 as Mechanism>::PublicKey::from_bytes(recipient).map_err(refused)?;
        let mode = OpModeS::<X25519HkdfSha256>::Base;
        let (encapsulated, context) =
            setup_sender_with_rng(&mode, &recipient, &[], &mut Chance(entropy)).map_err(refused)?;
        Ok(Self {
            context,
            encapsulated_key: encapsulated.to_bytes().to_vec(),
        })
    }

    /// Encrypts the single message.
    pub(crate) fn seal(mut self, plaintext: &[u8]) -> Result<ExportedKey, Refused> {
        let ciphertext = self.context.seal(plaintext, &[]).map_err(refused)?;
        Ok(ExportedKey {
            encapsulated_key: self.encapsulated_key,
            ciphertext,
        })
    }
}

/// Discards the cause: any detail would be an oracle.
fn refused(_error: hpke::HpkeError) -> Refused {
    Refused
}

/// Adapts the entropy port to the library.
struct Chance<'a>(&'a dyn Entropy);

impl TryRng for Chance<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(buffer);
        Ok(())
    }
}

impl TryCryptoRng for Chance<'_> {}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wycheproof;
