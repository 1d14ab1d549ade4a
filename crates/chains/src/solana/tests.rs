//! Solana's tests: a wallet that asks the chain as the use cases do.

use serde_json::{Value, json};
use vestry_domain::Environment;
use vestry_domain::signing::{Fields, MessageRequest, SigningRefused, SigningRequest};

use super::Solana;
use crate::{Chain, ChainError, PrivateKey, Signer};

mod guard;
mod keys;
mod messages;
mod offchain;
mod references;
mod refusals;
mod transactions;

/// Seed of `m/44'/501'/0'/0'` of the phrase `abandon … about`.
const ABANDON: &str = "37df573b3ac4ad5b522e064e25b63ea16bcbe79d449e81a0268d1047948bb445";

struct Wallet {
    key: PrivateKey,
    public_key: Vec<u8>,
    address: String,
}

impl Wallet {
    fn of_seed(seed: &str) -> Self {
        let key = Solana.private_key(&hex::decode(seed).unwrap()).unwrap();
        let public_key = Solana.public_key(&key).unwrap();
        let address = Solana.address(&public_key, Environment::Test).unwrap();
        Self {
            key,
            public_key,
            address,
        }
    }

    fn sign(&self, request: &SigningRequest) -> Result<Fields, SigningRefused> {
        let prepared = Solana.prepare(request, self.signer())?;
        let signed = prepared.sign(&self.key, &mut no_source).unwrap();
        Ok(signed.fields)
    }

    fn signer(&self) -> Signer<'_> {
        Signer {
            public_key: &self.public_key,
            address: &self.address,
            environment: Environment::Test,
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

#[test]
fn a_key_that_is_not_the_signers_signs_nothing() {
    let (wallet, other) = (Wallet::of_seed(ABANDON), Wallet::of_seed(&"07".repeat(32)));
    let transfer = json!({"transaction": references::unsigned_by(&wallet), "encoding": "base64"});
    for request in [
        SigningRequest::Message(MessageRequest {
            message: "hello".to_owned(),
            ..MessageRequest::default()
        }),
        SigningRequest::Transaction(transfer.clone()),
        method("sol_signMessage", json!({"message": "hello"})),
        method("sol_signTransaction", transfer),
        method(
            "sol_signOffchainMessage",
            json!({"message": "hello", "version": 0}),
        ),
    ] {
        let prepared = Solana.prepare(&request, wallet.signer()).ok().unwrap();
        assert!(prepared.sign(&wallet.key, &mut no_source).is_ok());
        assert_eq!(
            prepared.sign(&other.key, &mut no_source),
            Err(ChainError::Signature)
        );
    }
}
