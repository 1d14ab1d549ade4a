//! sr25519: Schnorr signatures over Ristretto, in the context of Substrate.

use rand_core::{CryptoRng, RngCore};
use schnorrkel::context::attach_rng;
use schnorrkel::{
    ExpansionMode, Keypair, MiniSecretKey, PublicKey, SIGNATURE_LENGTH, Signature, signing_context,
};
use vestry_domain::random::ByteSource;

use crate::{ChainError, PrivateKey};

/// What every chain built with Substrate signs in.
const CONTEXT: &[u8] = b"substrate";

/// The neutral element, which is the public key of no secret but zero.
pub(super) const OF_NOBODY: [u8; 32] = [0; 32];

/// `R‖s`.
pub(super) type SignatureBytes = [u8; SIGNATURE_LENGTH];

/// The key pair for the length of one operation.
///
/// The library wipes it when it is dropped; the box keeps it from being copied around before that. It is never printed:
/// the library's `Debug` would show the secret half.
pub(super) struct Pair(Box<Keypair>);

impl Pair {
    /// # Errors
    /// [`ChainError::PrivateKey`] for anything but 32 bytes, which a [`PrivateKey`] always has.
    pub(super) fn new(key: &PrivateKey) -> Result<Self, ChainError> {
        let seed = MiniSecretKey::from_bytes(key.seed()?)
            .map_err(|_wrong_length| ChainError::PrivateKey)?;
        Ok(Self(Box::new(
            seed.expand_to_keypair(ExpansionMode::Ed25519),
        )))
    }

    pub(super) fn public_key(&self) -> [u8; 32] {
        self.0.public.to_bytes()
    }

    fn sign(&self, bytes: &[u8], source: &mut dyn ByteSource) -> SignatureBytes {
        let transcript = signing_context(CONTEXT).bytes(bytes);
        self.0
            .sign(attach_rng(transcript, Randomness(source)))
            .to_bytes()
    }
}

/// Signs, and verifies what is handed out.
///
/// # Errors
/// [`ChainError::PrivateKey`], and [`ChainError::Signature`] when `public_key` is not that of the key.
pub(super) fn sign(
    key: &PrivateKey,
    public_key: &[u8],
    bytes: &[u8],
    source: &mut dyn ByteSource,
) -> Result<SignatureBytes, ChainError> {
    let signature = Pair::new(key)?.sign(bytes, source);
    verify(public_key, bytes, &signature)?;
    Ok(signature)
}

/// # Errors
/// [`ChainError::Signature`], also when `public_key` is none.
pub(super) fn verify(
    public_key: &[u8],
    bytes: &[u8],
    signature: &SignatureBytes,
) -> Result<(), ChainError> {
    let fits = |_differs| ChainError::Signature;
    let key = PublicKey::from_bytes(public_key).map_err(fits)?;
    let signature = Signature::from_bytes(signature).map_err(fits)?;
    key.verify_simple(CONTEXT, bytes, &signature).map_err(fits)
}

/// The bytes of a public key, if they are one.
///
/// # Errors
/// [`ChainError::PublicKey`] when they are not 32, or are no point in its only encoding.
pub(super) fn public_key(bytes: &[u8]) -> Result<[u8; 32], ChainError> {
    PublicKey::from_bytes(bytes)
        .map(|key| key.to_bytes())
        .map_err(|_invalid| ChainError::PublicKey)
}

/// Hands the source to the library, which mixes what it draws with the key and the message: a source that repeats itself
/// does not give the key away.
struct Randomness<'a>(&'a mut dyn ByteSource);

impl RngCore for Randomness<'_> {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn fill_bytes(&mut self, buffer: &mut [u8]) {
        self.0.fill(buffer);
    }

    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> Result<(), rand_core::Error> {
        self.0.fill(buffer);
        Ok(())
    }
}

/// A [`ByteSource`] is one for keys.
impl CryptoRng for Randomness<'_> {}
