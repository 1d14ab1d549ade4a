//! Signing requests to a wallet, and their results.
//!
//! Only the wallet's chain interprets the request. All code between the caller and the chain passes it on unchanged.

use std::borrow::Cow;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::Invalid;
use crate::wallet::WalletType;

/// The fields of a JSON object.
pub type Fields = Map<String, Value>;

/// A request to sign.
#[derive(Clone)]
pub enum SigningRequest {
    /// `sign_message`: a message in the chain's standard format.
    Message(MessageRequest),
    /// `sign_transaction`: the value of the chain's field ([`WalletType::transaction_field`]).
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
    /// The encoding of the text: `utf-8` (default), `hex`, `base64`, `base58`. With `utf-8`, text that starts with `0x` is plain text.
    pub encoding: Option<String>,
    /// The message standard to use, if the chain has several.
    pub format: Option<String>,
}

/// SHA-256 of the signed payload. Anyone who has the request can compute it (AUD-9).
///
/// | chain | over |
/// |---|---|
/// | Ethereum | the input of Keccak-256 |
/// | Solana | the message, or the serialized transaction message |
/// | Bitcoin | the signed digests, 32 bytes each, in the order of the inputs |
/// | Polkadot | the payload before any shortening to a hash; a message is wrapped in `<Bytes>` |
/// | Stellar | the signature base, whose SHA-256 is signed |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadHash(pub [u8; 32]);

impl PayloadHash {
    /// The hash of this payload.
    pub fn of(payload: &[u8]) -> Self {
        Self(Sha256::digest(payload).into())
    }
}

/// The result of signing, as returned to the caller in addition to the wallet. For `rpc` it is the object `data`. For other calls, it is
/// the fields of the response, which always include `signature`, and `signed_transaction` for transactions.
///
/// Every signature in it was verified against the stored public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The fields.
    pub fields: Fields,
    /// The hash of the signed payload.
    pub payload: PayloadHash,
}

impl Signed {
    /// The value of a string field.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Value::as_str)
    }
}

impl SigningRequest {
    /// A request with a text message.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message(MessageRequest {
            message: text.into(),
            ..MessageRequest::default()
        })
    }
}

/// The reason that a chain rejects a signing request. No secret has been accessed at this point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SigningRefused {
    /// A field was rejected.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The bytes of the message are a transaction of this wallet, so a signature of the message would also sign the transaction.
    #[error("the message is a transaction of this wallet; send it to sign_transaction")]
    MessageIsTransaction {
        /// Path of the message in the request.
        param: &'static str,
    },
    /// The wallet's chain has no such method.
    #[error("unsupported method; this wallet supports {}", .supported.join(", "))]
    UnsupportedMethod {
        /// The supported methods.
        supported: &'static [&'static str],
    },
    /// It could be signed, but the rules of this service forbid it.
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
