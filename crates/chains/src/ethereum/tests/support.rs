//! Requests of the abandon wallet.

use serde_json::Value;
use vestry_domain::invalid::Reason;
use vestry_domain::signing::{Fields, Signed, SigningRefused};

use super::*;

pub(super) const ABANDON_ADDRESS: &str = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94";

/// Prepares a request for the wallet of a key, and signs it with that key.
pub(super) fn sign(
    secret: &PrivateKey,
    request: &SigningRequest,
) -> Result<Fields, SigningRefused> {
    let chain = ethereum();
    let public_key = chain.public_key(secret).unwrap();
    let address = Ethereum::address_of(&public_key).unwrap();
    let signer = Signer {
        public_key: &public_key,
        address: &address,
        environment: Environment::Live,
    };
    let prepared = chain.prepare(request, signer)?;
    let Signed { fields, .. } = prepared.sign(secret, &mut nothing).unwrap();
    Ok(fields)
}

/// Panics if called: Ethereum's nonces are derived, so no randomness is needed.
fn nothing(_bytes: &mut [u8]) {
    panic!("signatures of Ethereum need no randomness");
}

pub(super) fn transaction(value: Value) -> Result<Fields, SigningRefused> {
    sign(&key(ABANDON), &SigningRequest::Transaction(value))
}

pub(super) fn rpc(name: &str, params: Value) -> Result<Fields, SigningRefused> {
    let Value::Object(params) = params else {
        panic!("params are an object");
    };
    let name = name.to_owned();
    sign(&key(ABANDON), &SigningRequest::Method { name, params })
}

/// The sort of a refusal and the path that it names.
pub(super) fn reason_and_param(refused: Result<Fields, SigningRefused>) -> (Reason, String) {
    match refused {
        Err(SigningRefused::Invalid(invalid)) => (invalid.reason, invalid.param.into_owned()),
        other => panic!("not refused by a field: {other:?}"),
    }
}

/// The path that a refusal names; empty for refusals of another sort.
pub(super) fn param(refused: Result<Fields, SigningRefused>) -> String {
    match refused {
        Err(SigningRefused::Invalid(invalid)) => {
            let named = invalid.message.contains(invalid.param.as_ref());
            assert!(named || invalid.param == "method", "{invalid}");
            invalid.param.into_owned()
        }
        Err(_) => String::new(),
        Ok(fields) => panic!("signed: {fields:?}"),
    }
}
