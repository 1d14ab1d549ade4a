//! Vectors, each with its source, and what must be refused.

mod differential;
mod extension_names;
mod malformed;
mod messages;
mod methods;
mod official;
mod refusals;

use alloy_primitives::hex;
use schnorrkel::derive::{CHAIN_CODE_LENGTH, ChainCode};
use schnorrkel::{ExpansionMode, MiniSecretKey};
use serde_json::{Value, json};
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, MessageRequest};

use super::*;

/// Mini secret of the phrase `abandon … about` (substrate-bip39, empty path), and its address: bip-utils and polkadot.js.
const ABANDON: &str = "4ed8d4b17698ddeaa1f1559f152f87b5d472f725ca86d341bd0276f1b61197e2";
const ADDRESS: &str = "13KVd4f2a4S5pLp4gTTFezyXdPWx27vQ9vS6xBXJ9yWVd7xo";
/// Mini secret of Substrate's development phrase (`bottom drive …`).
const DEVELOPMENT: &str = "fac7959dbfe72f052e5a0c3c8d6530f202b02fd8f9f5ca3580ec8deb7797479e";

fn key(text: &str) -> PrivateKey {
    Polkadot.private_key(&hex::decode(text).unwrap()).unwrap()
}

/// A source that never repeats itself, and is the same in every run.
fn source() -> impl ByteSource {
    let mut state = 0_u8;
    move |bytes: &mut [u8]| {
        for byte in bytes {
            state = state.wrapping_mul(5).wrapping_add(113);
            *byte = state;
        }
    }
}

/// The wallet of a key.
struct Wallet {
    key: PrivateKey,
    public_key: Vec<u8>,
    address: String,
}

impl Wallet {
    fn new(seed: &str) -> Self {
        let key = key(seed);
        let public_key = Polkadot.public_key(&key).unwrap();
        let address = Polkadot.address(&public_key, Environment::Live).unwrap();
        Self {
            key,
            public_key,
            address,
        }
    }

    fn signer(&self) -> Signer<'_> {
        Signer {
            public_key: &self.public_key,
            address: &self.address,
            environment: Environment::Live,
        }
    }

    fn prepare(&self, request: &SigningRequest) -> Result<Box<dyn Prepared>, SigningRefused> {
        Polkadot.prepare(request, self.signer())
    }

    fn signed(&self, request: &SigningRequest) -> Fields {
        let prepared = self.prepare(request).unwrap();
        prepared.sign(&self.key, &mut source()).unwrap().fields
    }

    fn transaction(&self, value: Value) -> Fields {
        self.signed(&SigningRequest::Transaction(value))
    }

    fn verifies(&self, bytes: &[u8], signature: &[u8]) -> bool {
        sr25519::verify(&self.public_key, bytes, signature.try_into().unwrap()).is_ok()
    }
}

fn message(text: &str, encoding: Option<&str>) -> SigningRequest {
    SigningRequest::Message(MessageRequest {
        message: text.to_owned(),
        encoding: encoding.map(str::to_owned),
        format: None,
    })
}

fn method(name: &str, params: Value) -> SigningRequest {
    let Value::Object(params) = params else {
        panic!("params are an object")
    };
    SigningRequest::Method {
        name: name.to_owned(),
        params,
    }
}

fn hex_of(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    hex::decode(text.strip_prefix("0x").unwrap()).unwrap()
}

/// A payload on the relay chain, of which the tests know the bytes.
fn payload() -> Value {
    let genesis = "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3";
    json!({
        "address": ADDRESS,
        "blockHash": genesis,
        "blockNumber": "0x00000000",
        "era": "0x00",
        "genesisHash": genesis,
        "method": "0x00000c68656c",
        "mode": 0,
        "nonce": "0x00000005",
        "specVersion": "0x000f4dfb",
        "tip": "0x00000000000000000000000000000000",
        "transactionVersion": "0x0000001a",
        "signedExtensions": [
            "CheckNonZeroSender", "CheckSpecVersion", "CheckTxVersion", "CheckGenesis", "CheckMortality",
            "CheckNonce", "CheckWeight", "ChargeTransactionPayment", "PrevalidateAttests", "CheckMetadataHash"
        ],
        "version": 4,
    })
}

/// DOT-1.
#[test]
fn the_abandon_phrase_has_the_address_that_polkadot_js_and_bip_utils_compute() {
    assert_eq!(Wallet::new(ABANDON).address, ADDRESS);
}

/// `subkey inspect //Alice` and the documentation of Substrate.
#[test]
fn alice_of_the_development_phrase_has_her_addresses() {
    let mut code = [0; CHAIN_CODE_LENGTH];
    // A junction is its text in SCALE, here one byte of length and five of text.
    code[..6].copy_from_slice(b"\x14Alice");
    let seed = hex::decode(DEVELOPMENT).unwrap();
    let (mini, _) = MiniSecretKey::from_bytes(&seed)
        .unwrap()
        .expand(ExpansionMode::Ed25519)
        .hard_derive_mini_secret_key(Some(ChainCode(code)), b"");
    let alice = Wallet::new(&hex::encode(mini.as_bytes()));
    assert_eq!(
        alice.address,
        "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"
    );
    let substrate = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY";
    assert_eq!(
        address::decode(substrate).unwrap().to_vec(),
        alice.public_key
    );
}

#[test]
fn test_and_live_wallets_have_the_same_addresses() {
    let wallet = Wallet::new(ABANDON);
    let test = Polkadot.address(&wallet.public_key, Environment::Test);
    assert_eq!(test.unwrap(), wallet.address);
}

/// 64 bytes are an expanded secret, which the tests of imports are about.
#[test]
fn other_lengths_are_no_private_keys_and_only_points_are_public_ones() {
    for length in (0..100).filter(|length| ![32, 64].contains(length)) {
        let bytes = vec![1; length];
        assert_eq!(
            Polkadot.private_key(&bytes).err(),
            Some(ChainError::PrivateKey)
        );
        assert_eq!(
            Polkadot.address(&bytes, Environment::Live).err(),
            Some(ChainError::PublicKey),
        );
    }
    // No encoding of a Ristretto point: negative, above the prime (RFC 9496 appendix A.2).
    for text in [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ] {
        let bytes = hex::decode(text).unwrap();
        assert_eq!(
            Polkadot.address(&bytes, Environment::Live).err(),
            Some(ChainError::PublicKey),
        );
    }
}

/// DOT-3, by hand: the parts of the payload in their order.
#[test]
fn the_check_value_is_put_together_as_it_is_written_down() {
    let wallet = Wallet::new(ABANDON);
    let genesis = "91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3";
    let expected = format!("00000c68656c00140000fb4d0f001a000000{genesis}{genesis}00");
    let fields = wallet.transaction(payload());
    let signature = hex_of(&fields["signature"]);
    assert_eq!(signature.len(), 65);
    assert_eq!(signature[0], 1);
    assert!(wallet.verifies(&hex::decode(expected).unwrap(), &signature[1..]));

    // 2 and 32 bytes of the signer, 65 of the signature, 4 sent along, 6 of the call; the length takes two bytes.
    let public_key = hex::encode(&wallet.public_key);
    let signature = hex::encode(&signature);
    assert_eq!(
        fields["signed_transaction"],
        format!("0xb5018400{public_key}{signature}0014000000000c68656c")
    );
    assert_eq!(fields.len(), 2);
}

#[test]
fn a_key_that_is_not_the_signers_signs_nothing() {
    let wallet = Wallet::new(ABANDON);
    let other = key(DEVELOPMENT);
    let raw = json!({"address": ADDRESS, "data": "0x00", "type": "payload"});
    for request in [
        message("hello", None),
        SigningRequest::Transaction(payload()),
        SigningRequest::Transaction(raw),
        method("signMessage", json!({"message": "hello"})),
    ] {
        let prepared = wallet.prepare(&request).unwrap();
        let signed = prepared.sign(&other, &mut source());
        assert_eq!(signed.err(), Some(ChainError::Signature));
    }
}

#[test]
fn signatures_are_drawn_from_the_source_and_from_nothing_else() {
    let wallet = Wallet::new(ABANDON);
    let prepared = wallet.prepare(&message("hello", None)).unwrap();
    let with = |source: &mut dyn ByteSource| prepared.sign(&wallet.key, source).unwrap().fields;
    let once = with(&mut source());
    assert_eq!(once, with(&mut source()));
    assert_ne!(once, with(&mut |bytes: &mut [u8]| bytes.fill(9)));
    // A broken source gives one nonce a message, and not one nonce for two.
    let zeros = &mut |bytes: &mut [u8]| bytes.fill(0);
    let hello = with(zeros);
    let other = wallet.prepare(&message("hullo", None)).unwrap();
    let other = other.sign(&wallet.key, zeros).unwrap().fields;
    let nonce = |fields: &Fields| hex_of(&fields["signature"])[..32].to_vec();
    assert_ne!(nonce(&hello), nonce(&other));
}
