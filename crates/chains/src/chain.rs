//! What every chain can do.

use vestry_domain::random::ByteSource;
use vestry_domain::wallet::WalletType;

use crate::PrivateKey;

/// Why a chain refused.
///
/// None of the variants says what was wrong with a secret: "not a key" is all that anybody may learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// The bytes are no private key of the chain.
    #[error("not a private key of this chain")]
    PrivateKey,
    /// The bytes are no public key of the chain.
    #[error("not a public key of this chain")]
    PublicKey,
    /// The text is no address of the chain.
    #[error("not an address of this chain")]
    Address,
    /// The signature is not one of this message under this key, or is not in the form that the chain hands out.
    #[error("the signature does not fit")]
    Signature,
    /// The source of randomness yielded no key in several draws; it is broken, by chance this does not happen.
    #[error("the source of randomness yields no key")]
    Randomness,
}

/// A signature as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureText {
    /// The text.
    pub text: String,
    /// Name of the form when it is not `0x` hex: `base58`, `base64`.
    pub encoding: Option<&'static str>,
}

/// One chain: keys, addresses and messages.
///
/// Public keys are bytes in the chain's own encoding, signatures the bytes that its standard defines.
pub trait Chain: Send + Sync {
    /// The wallet type that this chain serves.
    fn wallet_type(&self) -> WalletType;

    /// Takes a private key from its bytes.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] when the length is wrong or the number is outside the curve's range.
    fn private_key(&self, bytes: &[u8]) -> Result<PrivateKey, ChainError>;

    /// Draws a private key, each equally likely: bytes that are no key are thrown away.
    ///
    /// # Errors
    /// [`ChainError::Randomness`] when several draws in a row yield none.
    fn generate(&self, source: &mut dyn ByteSource) -> Result<PrivateKey, ChainError> {
        // Ethereum throws one draw in 2^128 away. Eight in a row mean that the source returns rubbish.
        const DRAWS: usize = 8;
        for _ in 0..DRAWS {
            let drawn = PrivateKey::filled_by(|bytes| source.fill(bytes));
            if let Ok(key) = self.private_key(drawn.expose()) {
                return Ok(key);
            }
        }
        Err(ChainError::Randomness)
    }

    /// The public key of a private key.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] when the key is not one of this chain.
    fn public_key(&self, key: &PrivateKey) -> Result<Vec<u8>, ChainError>;

    /// The canonical address of a public key.
    ///
    /// # Errors
    /// [`ChainError::PublicKey`].
    fn address(&self, public_key: &[u8]) -> Result<String, ChainError>;

    /// Signs a message by the chain's standard for messages.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] when the key is not one of this chain.
    fn sign_message(&self, key: &PrivateKey, message: &[u8]) -> Result<Vec<u8>, ChainError>;

    /// Checks a message signature in every one of its bytes: only what [`Chain::sign_message`] could have answered
    /// passes.
    ///
    /// # Errors
    /// [`ChainError::Signature`], also when the bytes given as a public key are none.
    fn verify_message(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), ChainError>;

    /// The customary text of a signature.
    fn signature_text(&self, signature: &[u8]) -> SignatureText;
}
