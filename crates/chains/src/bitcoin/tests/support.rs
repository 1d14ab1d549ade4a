//! What the tests share: keys, and requests without the ceremony.

use std::sync::LazyLock;

use alloy_primitives::hex;
use serde_json::{Map, Value};
use vestry_domain::signing::{Fields, MessageRequest, Signed, SigningRefused, SigningRequest};
use vestry_domain::{Environment, Secret};

use super::super::Bitcoin;
use crate::{Chain, ChainError, PrivateKey, Signer};

pub(in crate::bitcoin) fn chain() -> &'static Bitcoin {
    static CHAIN: LazyLock<Bitcoin> = LazyLock::new(|| Bitcoin::new(&Secret::new([0x42; 32])));
    &CHAIN
}

pub(in crate::bitcoin) fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

pub(in crate::bitcoin) fn key(text: &str) -> PrivateKey {
    chain().private_key(&bytes(text)).unwrap()
}

pub(in crate::bitcoin) fn vectors(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A key in the form that wallets hand out; the vectors have no other.
pub(in crate::bitcoin) fn wif(text: &str) -> PrivateKey {
    let parsed = ::bitcoin::PrivateKey::from_wif(text).unwrap();
    chain().private_key(&parsed.to_bytes()).unwrap()
}

pub(in crate::bitcoin) fn small(number: u8) -> PrivateKey {
    let mut bytes = [0; 32];
    bytes[31] = number;
    chain().private_key(&bytes).unwrap()
}

pub(in crate::bitcoin) fn address(key: &PrivateKey, environment: Environment) -> String {
    let public_key = chain().public_key(key).unwrap();
    chain().address(&public_key, environment).unwrap()
}

/// Auxiliary randomness of zeros, which the vectors of BIP-341 use.
pub(in crate::bitcoin) fn zeros(buffer: &mut [u8]) {
    buffer.fill(0);
}

/// Why nothing came of a request.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::bitcoin) enum Failed {
    Refused(SigningRefused),
    Chain(ChainError),
}

impl Failed {
    /// The field that a refusal names.
    pub(in crate::bitcoin) fn param(&self) -> &str {
        match self {
            Self::Refused(SigningRefused::Invalid(invalid)) => &invalid.param,
            other => panic!("not a refused field: {other:?}"),
        }
    }
}

/// Prepares for the wallet of one key and signs with another.
pub(in crate::bitcoin) fn sign_with(
    wallet: &PrivateKey,
    key: &PrivateKey,
    request: &SigningRequest,
) -> Result<Fields, Failed> {
    let chain = chain();
    let public_key = chain.public_key(wallet).unwrap();
    let signer = Signer {
        public_key: &public_key,
        address: &address(wallet, Environment::Live),
        environment: Environment::Live,
    };
    let prepared = chain.prepare(request, signer).map_err(Failed::Refused)?;
    let Signed { fields, .. } = prepared.sign(key, &mut zeros).map_err(Failed::Chain)?;
    Ok(fields)
}

pub(in crate::bitcoin) fn sign(
    key: &PrivateKey,
    request: &SigningRequest,
) -> Result<Fields, Failed> {
    sign_with(key, key, request)
}

pub(in crate::bitcoin) fn message(text: &str, format: Option<&str>) -> SigningRequest {
    SigningRequest::Message(MessageRequest {
        message: text.to_owned(),
        encoding: None,
        format: format.map(str::to_owned),
    })
}

pub(in crate::bitcoin) fn method(name: &str, params: Value) -> SigningRequest {
    let Value::Object(params) = params else {
        panic!("params are an object");
    };
    SigningRequest::Method {
        name: name.to_owned(),
        params,
    }
}

pub(in crate::bitcoin) fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a str {
    fields[name].as_str().unwrap()
}
