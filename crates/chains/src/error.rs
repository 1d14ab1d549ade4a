//! Errors of chains.

/// An error of a chain.
///
/// No variant says what was wrong with a secret: callers learn only that it is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// The bytes are not a private key of the chain.
    #[error("not a private key of this chain")]
    PrivateKey,
    /// The bytes are not a public key of the chain.
    #[error("not a public key of this chain")]
    PublicKey,
    /// The text is not an address of the chain, or not the key's.
    #[error("not an address of this chain")]
    Address,
    /// The signature is not valid for this message and key, or is not in the form that the chain returns.
    #[error("the signature does not fit")]
    Signature,
    /// The source of randomness yielded no key in several draws. This does not happen by chance, so the source is broken.
    #[error("the source of randomness does not yield a key")]
    Randomness,
}
