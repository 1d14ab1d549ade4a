//! sr25519: Schnorr signatures over Ristretto, in the context of Substrate.

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
    /// [`ChainError::PrivateKey`] for what [`private_key`] takes for none.
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

/// Takes 32 bytes as they are, and 64 that are an expanded secret.
///
/// # Errors
/// [`ChainError::PrivateKey`].
pub(super) fn private_key(bytes: &[u8]) -> Result<PrivateKey, ChainError> {
    if bytes.len() != PrivateKey::LENGTH {
        expanded(bytes)?;
    }
    Ok(PrivateKey::copied_from(bytes))
}

/// Takes an expanded secret as polkadot.js keeps it: the number is multiplied by 8, as Ed25519 has it.
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

/// The bytes that polkadot.js takes: a seed as it is, an expanded secret multiplied by 8.
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

/// The account of an index under the seed of a phrase: the seed itself for 0, as polkadot.js has it without a path, and
/// `//index` for the others.
///
/// # Errors
/// [`ChainError::PrivateKey`] when the seed has less than 32 bytes.
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

/// A number in a path of Substrate: 64 bits, little-endian, and zeros up to 32 bytes.
fn junction(number: u32) -> ChainCode {
    let mut code = [0; CHAIN_CODE_LENGTH];
    for (place, byte) in code.iter_mut().zip(number.to_le_bytes()) {
        *place = byte;
    }
    ChainCode(code)
}

/// The 64 bytes of schnorrkel. Zero is a number below the order too, but the key of everybody.
fn expanded(bytes: &[u8]) -> Result<SecretKey, ChainError> {
    let is_zero = bytes.iter().take(PrivateKey::LENGTH).all(|byte| *byte == 0);
    SecretKey::from_bytes(bytes)
        .ok()
        .filter(|_secret| !is_zero)
        .ok_or(ChainError::PrivateKey)
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
