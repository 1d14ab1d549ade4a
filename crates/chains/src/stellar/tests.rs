//! Stellar's tests: a wallet that asks the chain as the use cases do.

use serde_json::{Value, json};
use vestry_domain::Environment;
use vestry_domain::signing::{Fields, MessageRequest, SigningRefused, SigningRequest};

use super::Stellar;
use crate::{Chain, ChainError, PrivateKey, Signer};

mod auth_entries;
mod keys;
mod limits;
mod messages;
mod references;
mod refusals;
mod transactions;

/// Seed of `m/44'/148'/0'` of the phrase `abandon … about`.
const ABANDON: &str = "695db2365365e06159f13cc752a5d3b0c7376c45012b2f695e3a4da2434948bc";

struct Wallet {
    key: PrivateKey,
    public_key: Vec<u8>,
    address: String,
    environment: Environment,
}

impl Wallet {
    fn of_seed(seed: &str, environment: Environment) -> Self {
        let key = Stellar.private_key(&hex::decode(seed).unwrap()).unwrap();
        let public_key = Stellar.public_key(&key).unwrap();
        let address = Stellar.address(&public_key, environment).unwrap();
        Self {
            key,
            public_key,
            address,
            environment,
        }
    }

    fn abandon() -> Self {
        Self::of_seed(ABANDON, Environment::Test)
    }

    fn sign(&self, request: &SigningRequest) -> Result<Fields, SigningRefused> {
        let prepared = Stellar.prepare(request, self.signer())?;
        let signed = prepared.sign(&self.key, &mut no_source).unwrap();
        Ok(signed.fields)
    }

    fn signer(&self) -> Signer<'_> {
        Signer {
            public_key: &self.public_key,
            address: &self.address,
            environment: self.environment,
        }
    }

    fn sign_message(
        &self,
        message: &str,
        encoding: Option<&str>,
    ) -> Result<Fields, SigningRefused> {
        self.sign(&SigningRequest::Message(MessageRequest {
            message: message.to_owned(),
            encoding: encoding.map(str::to_owned),
            format: None,
        }))
    }

    fn sign_transaction(&self, value: Value) -> Result<Fields, SigningRefused> {
        self.sign(&SigningRequest::Transaction(value))
    }

    fn rpc(&self, name: &str, params: Value) -> Result<Fields, SigningRefused> {
        self.sign(&method(name, params))
    }
}

fn method(name: &str, params: Value) -> SigningRequest {
    SigningRequest::Method {
        name: name.to_owned(),
        params: params.as_object().unwrap().clone(),
    }
}

/// Ed25519 draws nothing.
fn no_source(_buffer: &mut [u8]) {
    panic!("randomness was asked for");
}

fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields[name].as_str().unwrap()
}

/// The field that a refusal names.
fn param(refused: Result<Fields, SigningRefused>) -> String {
    match refused {
        Err(SigningRefused::Invalid(invalid)) => invalid.param.into_owned(),
        other => panic!("{other:?}"),
    }
}

fn is_denied(refused: &Result<Fields, SigningRefused>) -> bool {
    matches!(refused, Err(SigningRefused::Denied(_)))
}

#[test]
fn a_key_that_is_not_the_signers_signs_nothing() {
    let transaction = references::first("transactions", "test");
    let entry = references::first("auth_entries", "test");
    let wallet = Wallet::abandon();
    let other = Wallet::of_seed(&"07".repeat(32), Environment::Test);
    for request in [
        SigningRequest::Message(MessageRequest::default()),
        SigningRequest::Transaction(json!({"xdr": transaction["before"]})),
        method("xlm_signMessage", json!({"message": "hello"})),
        method("stellar_signXDR", json!({"xdr": transaction["before"]})),
        method(
            "xlm_signAuthEntry",
            json!({"auth_entry": entry["auth_entry"]}),
        ),
    ] {
        let prepared = Stellar.prepare(&request, wallet.signer()).ok().unwrap();
        assert!(prepared.sign(&wallet.key, &mut no_source).is_ok());
        assert_eq!(
            prepared.sign(&other.key, &mut no_source),
            Err(ChainError::Signature)
        );
    }
}
