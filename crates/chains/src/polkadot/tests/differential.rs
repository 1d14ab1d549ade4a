//! What other people's code made of the same requests: polkadot.js, and the Python libraries. The scripts that asked them
//! stand beside the vectors.

use std::collections::BTreeSet;

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest};
use serde_json::from_str;
use sha2::Sha256;

use super::*;

fn cases(json: &str, list: &str) -> Vec<Value> {
    let file: Value = from_str(json).unwrap();
    file[list].as_array().unwrap().clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn keys_addresses_and_signatures_of_polkadot_js_are_ours() {
    let json = include_str!("../vectors/keys.json");
    let file: Value = from_str(json).unwrap();
    assert_eq!(file["prefixes"].as_array().unwrap().len(), 10);
    let cases = cases(json, "keys");
    assert_eq!(cases.len(), 24);
    for case in &cases {
        let wallet = Wallet::new(text(&case["seed"]).strip_prefix("0x").unwrap());
        assert_eq!(wallet.public_key, hex_of(&case["publicKey"]));
        let addresses = case["addresses"].as_array().unwrap();
        assert_eq!(wallet.address, addresses[0]);
        for address in addresses {
            assert_eq!(
                address::decode(text(address)).unwrap().to_vec(),
                wallet.public_key
            );
        }
        let wrapped = hex_of(&case["wrapped"]);
        assert_eq!(
            super::super::message::wrap(text(&case["message"]).as_bytes()),
            wrapped
        );
        assert!(wallet.verifies(&wrapped, &hex_of(&case["signature"])));
        assert!(wallet.verifies(&wrapped, &hex_of(&case["multi"])[1..]));
        assert!(!wallet.verifies(b"something else", &hex_of(&case["signature"])));
    }
}

#[test]
fn keys_addresses_and_signatures_of_python_are_ours() {
    let cases = cases(include_str!("../vectors/python.json"), "keys");
    assert_eq!(cases.len(), 24);
    for case in &cases {
        let wallet = Wallet::new(text(&case["seed"]));
        assert_eq!(hex::encode(&wallet.public_key), case["publicKey"]);
        assert_eq!(wallet.address, case["address"]);
        let message = hex::decode(text(&case["message"])).unwrap();
        for signature in ["signature", "interface"] {
            let signature = hex::decode(text(&case[signature])).unwrap();
            assert!(wallet.verifies(&message, &signature));
        }
    }
}

/// A case of payloads.json, whose columns are explained in it.
struct Case {
    payload: Value,
    method: Vec<u8>,
    signed: Vec<u8>,
    sent: String,
}

fn payloads() -> Vec<Case> {
    let file: Value = from_str(include_str!("../vectors/payloads.json")).unwrap();
    let hash = |index: &Value| match index.as_u64() {
        Some(index) => file["hashes"][usize::try_from(index).unwrap()].clone(),
        None => Value::Null,
    };
    let read = |case: &Value| {
        let mut payload = case[1].clone();
        let set = usize::try_from(case[0].as_u64().unwrap()).unwrap();
        payload["signedExtensions"] = file["sets"][set].clone();
        payload["version"] = 4.into();
        payload["blockHash"] = hash(&case[2]);
        payload["genesisHash"] = hash(&case[3]);
        payload["metadataHash"] = hash(&case[4]);
        let mut rest = text(&case[5]).to_owned();
        for (index, hash) in file["hashes"].as_array().unwrap().iter().enumerate() {
            let digits = text(hash).strip_prefix("0x").unwrap();
            rest = rest.replace(&format!("#{index}"), digits);
        }
        let method = hex_of(&payload["method"]);
        let signed = [method.clone(), hex::decode(rest).unwrap()].concat();
        Case {
            payload,
            method,
            signed,
            sent: text(&case[6]).to_owned(),
        }
    };
    file["cases"].as_array().unwrap().iter().map(read).collect()
}

/// DOT-3, DOT-6, CH-10.
#[test]
fn payloads_and_transactions_are_byte_for_byte_those_of_polkadot_js() {
    let wallet = Wallet::new(ABANDON);
    let (mut plain, mut hashed) = (0, 0);
    for case in payloads() {
        let fields = wallet.transaction(case.payload.clone());
        let signature = hex_of(&fields["signature"]);
        let signed = match case.signed.len() {
            ..=256 => {
                plain += 1;
                case.signed
            }
            _ => {
                hashed += 1;
                Blake2b::<U32>::digest(&case.signed).to_vec()
            }
        };
        assert!(
            wallet.verifies(&signed, &signature[1..]),
            "{}",
            case.payload
        );

        let transaction = hex_of(&fields["signed_transaction"]);
        let body = [
            vec![0x84, 0],
            wallet.public_key.clone(),
            signature,
            hex::decode(&case.sent).unwrap(),
            case.method,
        ]
        .concat();
        // Two bytes of length, whose low bits 01 say so: SCALE's compact form from 64 to 16383.
        let length = u16::try_from(body.len()).unwrap() << 2 | 1;
        assert_eq!(transaction, [length.to_le_bytes().to_vec(), body].concat());
    }
    assert_eq!(plain + hashed, 224);
    assert!(plain > 50 && hashed > 20, "{plain} {hashed}");
}

/// The bytes that an application has put together are signed as those that are put together here.
#[test]
fn raw_payloads_are_signed_as_if_they_had_been_assembled_here() {
    let wallet = Wallet::new(ABANDON);
    for case in payloads().into_iter().take(40) {
        let data = hex::encode_prefixed(&case.signed);
        let fields =
            wallet.transaction(json!({"address": ADDRESS, "data": data, "type": "payload"}));
        let signed = match case.signed.len() {
            ..=256 => case.signed,
            _ => Blake2b::<U32>::digest(&case.signed).to_vec(),
        };
        let signature = hex_of(&fields["signature"]);
        assert_eq!(signature[0], 1);
        assert!(wallet.verifies(&signed, &signature[1..]));
        assert_eq!(fields["signed_transaction"], Value::Null);
    }
}

/// `sp_runtime::generic::SignedPayload` hashes what is longer than 256 bytes (DOT-3).
#[test]
fn payloads_are_hashed_from_257_bytes_on() {
    let wallet = Wallet::new(ABANDON);
    for length in [1, 255, 256, 257, 258, 100_000] {
        let payload = vec![5; length];
        let data = hex::encode_prefixed(&payload);
        let fields =
            wallet.transaction(json!({"address": ADDRESS, "data": data, "type": "payload"}));
        let signature = hex_of(&fields["signature"]);
        let hash = Blake2b::<U32>::digest(&payload);
        assert_eq!(wallet.verifies(&payload, &signature[1..]), length <= 256);
        assert_eq!(wallet.verifies(&hash, &signature[1..]), length > 256);
    }
}

/// All names that polkadot.js knows, and none that it does not: the sets of the payloads have each of its 24.
#[test]
fn the_extensions_known_here_are_those_of_polkadot_js() {
    let file: Value = from_str(include_str!("../vectors/payloads.json")).unwrap();
    let sets = file["sets"].as_array().unwrap();
    let names: BTreeSet<&str> = sets
        .iter()
        .flat_map(|set| set.as_array().unwrap())
        .map(text)
        .collect();
    assert_eq!(names.len(), 24);
    for name in names {
        assert!(extensions::parts(name).is_some(), "{name}");
    }
}

/// Of all pairs of bytes, those that polkadot.js reads as a mortal era and writes as the same two bytes: a byte for each, 1
/// or 0, hashed. Made with @polkadot/types 16.5.6, `createType('ExtrinsicEra', …)`.
#[test]
fn mortal_eras_are_those_of_polkadot_js() {
    let wallet = Wallet::new(ABANDON);
    let mut payload = refusals::with(json!({"method": "0x0000"}));
    let map: Vec<u8> = (0..=u16::MAX)
        .map(|era| {
            payload["era"] = hex::encode_prefixed(era.to_le_bytes()).into();
            let request = SigningRequest::Transaction(payload.clone());
            u8::from(wallet.prepare(&request).is_ok())
        })
        .collect();
    assert_eq!(map.iter().filter(|mortal| **mortal == 1).count(), 24_572);
    assert_eq!(
        hex::encode(Sha256::digest(&map)),
        "a59e70ec91a24a6bf0d439b43df14fc0e25c93d287011563ed28d203a6ccdac8"
    );
}
