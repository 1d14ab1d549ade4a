//! Why a chain refused.

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
    /// The text is no address of the chain, or not that of the key.
    #[error("not an address of this chain")]
    Address,
    /// The signature is not one of this message under this key, or is not in the form that the chain hands out.
    #[error("the signature does not fit")]
    Signature,
    /// The source of randomness yielded no key in several draws; it is broken, by chance this does not happen.
    #[error("the source of randomness yields no key")]
    Randomness,
}
