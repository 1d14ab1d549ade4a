//! What a wallet is asked to sign, and what comes of it.
//!
//! Only the chain of the wallet understands the request. Everybody between the caller and the chain hands it on as it is.

use std::borrow::Cow;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::Invalid;
use crate::wallet::WalletType;

/// The fields of a JSON object.
pub type Fields = Map<String, Value>;

/// What is to be signed.
#[derive(Clone)]
pub enum SigningRequest {
    /// `sign_message`: a message by the standard of the chain.
    Message(MessageRequest),
    /// `sign_transaction`: what stands in the field of the chain ([`WalletType::transaction_field`]).
    Transaction(Value),
    /// `rpc`: a method of the chain with its parameters.
    Method {
        /// Its name.
        name: String,
        /// Its parameters.
        params: Fields,
    },
}

/// A message as the caller wrote it.
#[derive(Clone, Default)]
pub struct MessageRequest {
    /// The text.
    pub message: String,
    /// How the text names its bytes: `utf-8` (default), `hex`, `base64`, `base58`. Text that starts with `0x` is text.
    pub encoding: Option<String>,
    /// Which of the chain's standards for messages is meant, where it has several.
    pub format: Option<String>,
}

/// SHA-256 of what went under a signature: with the request at hand, anybody can compute it (AUD-9).
///
/// | chain | over |
/// |---|---|
/// | Ethereum | the bytes that Keccak-256 is taken of |
/// | Solana | the message, or the serialized message of the transaction |
/// | Bitcoin | the digests that are signed, 32 bytes each, in the order of the inputs |
/// | Polkadot | the payload before it is shortened to a hash; of a message, with `<Bytes>` around it |
/// | Stellar | the signature base, of which SHA-256 is what is signed |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadHash(pub [u8; 32]);

impl PayloadHash {
    /// The hash of these bytes.
    pub fn of(payload: &[u8]) -> Self {
        Self(Sha256::digest(payload).into())
    }
}

/// What the answer says of a signature, besides the wallet: for `rpc` the object `data`, for the other calls the fields of the
/// answer, of which `signature` always is one and `signed_transaction` is one for transactions.
///
/// Every signature in it was verified against the stored public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The fields.
    pub fields: Fields,
    /// What they are signatures of.
    pub payload: PayloadHash,
}

impl Signed {
    /// A field that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Value::as_str)
    }
}

impl SigningRequest {
    /// A message that is text.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message(MessageRequest {
            message: text.into(),
            ..MessageRequest::default()
        })
    }
}

/// Why a chain does not sign what was asked for. Nothing secret was looked at yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SigningRefused {
    /// A field was refused.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The bytes of the message are a transaction of this wallet: a signature of the one would be one of the other.
    #[error("the message is a transaction of this wallet; send it to sign_transaction")]
    MessageIsTransaction {
        /// Path of the message in the request.
        param: &'static str,
    },
    /// The wallet's chain has no such method.
    #[error("method is none of this wallet; it has {}", .supported.join(", "))]
    UnsupportedMethod {
        /// Those that it has.
        supported: &'static [&'static str],
    },
    /// It could be signed, and the rules of this service say no.
    #[error("{0}")]
    Denied(Cow<'static, str>),
}

impl WalletType {
    /// The field of `sign_transaction` that holds a transaction of this chain.
    pub const fn transaction_field(self) -> &'static str {
        match self {
            Self::Ethereum => "eth_transaction",
            Self::Solana => "sol_transaction",
            Self::Bitcoin => "btc_transaction",
            Self::Polkadot => "dot_transaction",
            Self::Stellar => "xlm_transaction",
        }
    }
}
