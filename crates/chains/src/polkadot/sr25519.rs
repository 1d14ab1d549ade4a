//! sr25519: Schnorr signatures over Ristretto, in Substrate's context.

use rand_core::{CryptoRng, RngCore};
use schnorrkel::context::attach_rng;
use schnorrkel::derive::{CHAIN_CODE_LENGTH, ChainCode};
use schnorrkel::{
    ExpansionMode, Keypair, MiniSecretKey, PublicKey, SIGNATURE_LENGTH, SecretKey, Signature,
    signing_context,
};
use vestry_domain::random::ByteSource;
use zeroize::Zeroizing;

use crate::{ChainError, PrivateKey};

/// The signing context of every Substrate chain.
const CONTEXT: &[u8] = b"substrate";

/// The identity element, the public key of the secret zero.
pub(super) const OF_NOBODY: [u8; 32] = [0; 32];

/// `R‖s`.
pub(super) type SignatureBytes = [u8; SIGNATURE_LENGTH];

/// The key pair for the duration of one operation.
///
/// The library wipes it on drop; the box prevents copies before that. It must never be printed: the library's `Debug` would show the secret
/// half.
pub(super) struct Pair(Box<Keypair>);

impl Pair {
    /// Expands a key.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] for bytes that [`private_key`] rejects.
    pub(super) fn new(key: &PrivateKey) -> Result<Self, ChainError> {
        let pair = match MiniSecretKey::from_bytes(key.expose()) {
            Ok(seed) => seed.expand_to_keypair(ExpansionMode::Ed25519),
            Err(_expanded) => expanded(key.expose())?.to_keypair(),
        };
        Ok(Self(Box::new(pair)))
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

/// Accepts any 32 bytes, and 64 bytes that are an expanded secret.
///
/// # Errors
/// [`ChainError::PrivateKey`].
pub(super) fn private_key(bytes: &[u8]) -> Result<PrivateKey, ChainError> {
    if bytes.len() != PrivateKey::LENGTH {
        expanded(bytes)?;
    }
    Ok(PrivateKey::copied_from(bytes))
}

/// Reads an expanded secret of polkadot.js, whose number is multiplied by 8, as in Ed25519.
///
/// # Errors
/// [`ChainError::PrivateKey`].
pub(super) fn from_polkadot_js(bytes: &[u8]) -> Result<PrivateKey, ChainError> {
    let secret = SecretKey::from_ed25519_bytes(bytes).map_err(|_invalid| ChainError::PrivateKey)?;
    // The library drops the remainder of the division.
    let exact = Zeroizing::new(secret.to_ed25519_bytes());
    if exact.as_slice() != bytes {
        return Err(ChainError::PrivateKey);
    }
    private_key(Zeroizing::new(secret.to_bytes()).as_slice())
}

/// The bytes that polkadot.js accepts: a seed unchanged, an expanded secret multiplied by 8.
///
/// # Errors
/// [`ChainError::PrivateKey`].
pub(super) fn exported(key: &PrivateKey) -> Result<Zeroizing<Vec<u8>>, ChainError> {
    let bytes = key.expose();
    if bytes.len() == PrivateKey::LENGTH {
        return Ok(Zeroizing::new(bytes.to_vec()));
    }
    let exported = Zeroizing::new(expanded(bytes)?.to_ed25519_bytes());
    Ok(Zeroizing::new(exported.to_vec()))
}

/// The account at an index below the seed of a phrase: for 0 the seed itself, which is polkadot.js' account without a path, otherwise
/// `//index`.
///
/// # Errors
/// [`ChainError::PrivateKey`] if the seed has less than 32 bytes.
pub(super) fn of_account(seed: &[u8], index: u32) -> Result<PrivateKey, ChainError> {
    let seed = seed
        .first_chunk::<{ PrivateKey::LENGTH }>()
        .ok_or(ChainError::PrivateKey)?;
    if index == 0 {
        return Ok(PrivateKey::copied_from(seed));
    }
    let pair = Pair::new(&PrivateKey::copied_from(seed))?;
    let (child, _chain_code) = pair
        .0
        .secret
        .hard_derive_mini_secret_key(Some(junction(index)), []);
    Ok(PrivateKey::copied_from(child.as_bytes()))
}

/// A number in a Substrate path: 64 bits, little-endian, zero-padded to 32 bytes.
fn junction(number: u32) -> ChainCode {
    let mut code = [0; CHAIN_CODE_LENGTH];
    for (place, byte) in code.iter_mut().zip(number.to_le_bytes()) {
        *place = byte;
    }
    ChainCode(code)
}

/// The 64 bytes of schnorrkel. Zero is below the order too, but is no secret.
fn expanded(bytes: &[u8]) -> Result<SecretKey, ChainError> {
    let is_zero = bytes.iter().take(PrivateKey::LENGTH).all(|byte| *byte == 0);
    SecretKey::from_bytes(bytes)
        .ok()
        .filter(|_secret| !is_zero)
        .ok_or(ChainError::PrivateKey)
}

/// Signs, and verifies the signature before returning it.
///
/// # Errors
/// [`ChainError::PrivateKey`], and [`ChainError::Signature`] if `public_key` is not the key's.
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

/// Verifies a signature.
///
/// # Errors
/// [`ChainError::Signature`], also if `public_key` is invalid.
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

/// The bytes of a valid public key.
///
/// # Errors
/// [`ChainError::PublicKey`] if there are not 32 bytes, or they are not a point in its only encoding.
pub(super) fn public_key(bytes: &[u8]) -> Result<[u8; 32], ChainError> {
    PublicKey::from_bytes(bytes)
        .map(|key| key.to_bytes())
        .map_err(|_invalid| ChainError::PublicKey)
}

/// Passes the source to the library, which mixes its output with the key and the message, so that a repeating source does not leak the key.
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

/// A [`ByteSource`] is suitable for keys.
impl CryptoRng for Randomness<'_> {}
