//! What `sol_transaction` and `sol_signTransaction` refuse, and by which name.

use super::super::METHODS;
use super::references::{string, transactions, transfer, unsigned_by};
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use vestry_domain::invalid::Reason;

const FIELD: &str = "sol_transaction.transaction";

fn of_bytes(bytes: &[u8]) -> Value {
    json!({"transaction": STANDARD.encode(bytes), "encoding": "base64"})
}

#[test]
fn ch_11_an_unknown_member_is_refused_by_name() {
    let wallet = Wallet::of_seed(ABANDON);
    for name in ["Transaction", "feePayer", "comment"] {
        let request = json!({"transaction": unsigned_by(&wallet), "encoding": "base64", name: "x"});
        let refused = wallet.sign_transaction(request.clone());
        assert!(
            matches!(&refused, Err(SigningRefused::Invalid(it)) if it.reason == Reason::Unknown)
        );
        assert_eq!(param(refused), format!("sol_transaction.{name}"));
        let refused = wallet.rpc("sol_signTransaction", request);
        assert_eq!(param(refused), format!("params.{name}"));
    }
}

#[test]
fn wrong_shapes_are_refused_with_the_path_of_the_field() {
    let wallet = Wallet::of_seed(ABANDON);
    let good = unsigned_by(&wallet);
    for (value, name) in [
        (json!(null), ""),
        (json!("text"), ""),
        (json!([good]), ""),
        (json!({}), ".transaction"),
        (json!({"encoding": "base64"}), ".transaction"),
        (
            json!({"transaction": null, "encoding": "base64"}),
            ".transaction",
        ),
        (
            json!({"transaction": 1, "encoding": "base64"}),
            ".transaction",
        ),
        (
            json!({"transaction": "", "encoding": "base64"}),
            ".transaction",
        ),
        (
            json!({"transaction": "", "encoding": "base58"}),
            ".transaction",
        ),
        (
            json!({"transaction": "%", "encoding": "base64"}),
            ".transaction",
        ),
        (
            json!({"transaction": "0OIl", "encoding": "base58"}),
            ".transaction",
        ),
        (
            json!({"transaction": good.trim_end_matches('='), "encoding": "base58"}),
            ".transaction",
        ),
        (
            json!({"transaction": format!("{good}\n"), "encoding": "base64"}),
            ".transaction",
        ),
        (json!({"transaction": good}), ".encoding"),
        (json!({"transaction": good, "encoding": 64}), ".encoding"),
        (json!({"transaction": good, "encoding": "hex"}), ".encoding"),
        (
            json!({"transaction": good, "encoding": "utf-8"}),
            ".encoding",
        ),
    ] {
        let refused = wallet.sign_transaction(value.clone());
        assert_eq!(param(refused), format!("sol_transaction{name}"), "{value}");
        if let Some(fields) = value.as_object() {
            let refused = wallet.rpc("sol_signTransaction", json!(fields));
            assert_eq!(param(refused), format!("params{name}"), "{value}");
        }
    }
}

/// SOL-6.
#[test]
fn a_transaction_that_asks_for_no_signature_of_the_wallet_is_refused() {
    let (wallet, other) = (Wallet::of_seed(ABANDON), Wallet::of_seed(&"07".repeat(32)));
    let request = json!({"transaction": unsigned_by(&other), "encoding": "base64"});
    assert_eq!(param(wallet.sign_transaction(request)), FIELD);
    // An account of it, but none that signs.
    let mut message = transfer(&other);
    message[36..68].copy_from_slice(&wallet.public_key);
    assert_eq!(param(wallet.sign_transaction(of_bytes(&message))), FIELD);
}

#[test]
fn every_truncation_and_every_trailing_byte_is_refused() {
    for case in transactions().iter().step_by(11) {
        let wallet = Wallet::of_seed(string(case, "seed"));
        for name in ["before", "message"] {
            let bytes = STANDARD.decode(string(case, name)).unwrap();
            for length in 0..bytes.len() {
                // A v1 transaction that loses all its signatures is a message, which is taken.
                if let Err(refused) = wallet.sign_transaction(of_bytes(&bytes[..length])) {
                    assert_eq!(param(Err(refused)), FIELD);
                } else {
                    assert_eq!(case["kind"], "v1");
                    assert_eq!(
                        bytes[..length],
                        STANDARD.decode(string(case, "message")).unwrap()
                    );
                }
            }
            for more in [&[0][..], &[1], &[0; 64]] {
                let longer = [&bytes, more].concat();
                let is_v1_with_slots =
                    case["kind"] == "v1" && name == "message" && more.len() == 64;
                match wallet.sign_transaction(of_bytes(&longer)) {
                    Ok(_) => assert!(is_v1_with_slots),
                    refused => assert_eq!(param(refused), FIELD),
                }
            }
        }
    }
}

/// What was sent, with the signature in a slot; or, where the change made a message of the whole, with slots before or
/// after it.
fn assert_is_signed(fields: &Fields, sent: &[u8]) {
    let mut signed = STANDARD.decode(text(fields, "signed_transaction")).unwrap();
    let signature = bs58::decode(text(fields, "signature")).into_vec().unwrap();
    let at = signed
        .windows(64)
        .position(|part| part == signature)
        .unwrap();
    if signed.len() == sent.len() {
        signed[at..at + 64].copy_from_slice(&sent[at..at + 64]);
        assert_eq!(signed, sent);
    } else {
        assert!(signed.starts_with(sent) || signed.ends_with(sent));
    }
}

/// Whatever a changed byte makes of a transaction is refused, or is another transaction that asks for the wallet's
/// signature, and then it is that one that is signed.
#[test]
fn every_changed_byte_is_refused_or_signed_as_what_it_is() {
    let mut taken = 0;
    for case in transactions().iter().step_by(13) {
        let wallet = Wallet::of_seed(string(case, "seed"));
        let bytes = STANDARD.decode(string(case, "before")).unwrap();
        for place in 0..bytes.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut altered = bytes.clone();
                altered[place] ^= change;
                match wallet.sign_transaction(of_bytes(&altered)) {
                    Ok(fields) => {
                        taken += 1;
                        assert_is_signed(&fields, &altered);
                    }
                    refused => assert_eq!(param(refused), FIELD),
                }
            }
        }
    }
    assert!(taken > 1000, "{taken}");
}

/// 1,232 bytes for legacy and v0, 4,096 for v1, with all signatures; base58 only as far as 1,232 bytes can need.
#[test]
fn sizes_are_limited_to_the_byte() {
    let wallet = Wallet::of_seed(ABANDON);
    let signed_length = |value: Value| {
        let fields = wallet.sign_transaction(value).ok()?;
        let signed = text(&fields, "signed_transaction");
        Some(STANDARD.decode(signed).unwrap().len())
    };
    let legacy = |data: usize| {
        let mut message = transfer(&wallet);
        message.truncate(message.len() - 13);
        message.extend_from_slice(&[u8::try_from(data % 128).unwrap() | 0x80]);
        message.push(u8::try_from(data / 128).unwrap());
        message.extend(vec![7; data]);
        message
    };
    let room = 1232 - 65 - legacy(0x80).len() + 0x80;
    for (data, expected) in [(room, Some(1232)), (room + 1, None)] {
        assert_eq!(signed_length(of_bytes(&legacy(data))), expected);
        let whole = [&[1][..], &[0; 64], &legacy(data)].concat();
        assert_eq!(signed_length(of_bytes(&whole)), expected);
    }
    let v1 = |data: u16| {
        let mut message = vec![0x81, 1, 0, 1, 0, 0, 0, 0];
        message.extend_from_slice(&[0xbb; 32]);
        message.extend_from_slice(&[1, 2]);
        message.extend_from_slice(&wallet.public_key);
        message.extend_from_slice(&[0xcc; 32]);
        message.extend_from_slice(&[1, 0]);
        message.extend_from_slice(&data.to_le_bytes());
        message.extend(vec![7; usize::from(data)]);
        message
    };
    let room = u16::try_from(4096 - 64 - v1(0).len()).unwrap();
    for (data, expected) in [(room, Some(4096)), (room + 1, None)] {
        assert_eq!(signed_length(of_bytes(&v1(data))), expected);
        let whole = [&v1(data)[..], &[0; 64]].concat();
        assert_eq!(signed_length(of_bytes(&whole)), expected);
    }
    let in_base58 =
        json!({"transaction": bs58::encode(v1(1300)).into_string(), "encoding": "base58"});
    assert_eq!(param(wallet.sign_transaction(in_base58)), FIELD);
    let huge = json!({"transaction": "A".repeat(1 << 20), "encoding": "base64"});
    assert_eq!(param(wallet.sign_transaction(huge)), FIELD);
}

/// Counts of more than 127 in one byte more than they need, which old decoders took.
#[test]
fn a_second_encoding_of_a_length_is_refused() {
    let wallet = Wallet::of_seed(ABANDON);
    let mut message = transfer(&wallet);
    message.splice(3..4, [0x83, 0x00]);
    assert_eq!(param(wallet.sign_transaction(of_bytes(&message))), FIELD);
    let whole = [&[0x81, 0x00][..], &[0; 64], &transfer(&wallet)].concat();
    assert_eq!(param(wallet.sign_transaction(of_bytes(&whole))), FIELD);
}

/// `0` and `2` signatures for one signer; version 2; the off-chain domain's first byte.
#[test]
fn contradictions_are_refused() {
    let wallet = Wallet::of_seed(ABANDON);
    let message = transfer(&wallet);
    for bytes in [
        [&[0][..], &message].concat(),
        [&[2][..], &[0; 128], &message].concat(),
        [&[0x82][..], &message].concat(),
        [&[0xff][..], &message].concat(),
        [&[0x80][..], &message].concat(),
    ] {
        assert_eq!(param(wallet.sign_transaction(of_bytes(&bytes))), FIELD);
    }
    for (place, value) in [
        (0, 0),
        (0, 4),
        (1, 1),
        (2, 3),
        (4 + 128 + 1, 0),
        (4 + 128 + 1, 3),
        (4 + 128 + 4, 9),
    ] {
        let mut altered = message.clone();
        altered[place] = value;
        let refused = wallet.sign_transaction(of_bytes(&altered));
        assert_eq!(param(refused), FIELD, "{place} {value}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        Just(Value::from("base58")),
        Just(Value::from("base64")),
    ];
    leaf.prop_recursive(2, 16, 5, |inner| {
        let name = prop_oneof![
            Just("transaction"),
            Just("encoding"),
            Just("message"),
            Just("version"),
            Just("x")
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..4).prop_map(|pairs| pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_makes_the_chain_panic(value in any_json(), which in 0..METHODS.len()) {
        let wallet = Wallet::of_seed(ABANDON);
        if let Some(fields) = value.as_object() {
            let _answer = wallet.rpc(METHODS[which], json!(fields));
        }
        let _answer = wallet.sign_transaction(value);
    }

    #[test]
    fn no_bytes_make_the_chain_panic(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..400),
        start in prop_oneof![Just(vec![]), Just(vec![1]), Just(vec![0x80, 1, 0]), Just(vec![0x81, 1, 0, 0])],
        with_key in any::<bool>(),
    ) {
        let wallet = Wallet::of_seed(ABANDON);
        bytes.splice(0..0, start);
        if with_key {
            let middle = bytes.len() / 2;
            bytes.splice(middle..middle, wallet.public_key.clone());
        }
        let _answer = wallet.sign_transaction(of_bytes(&bytes));
        let _answer = wallet.sign_message(&STANDARD.encode(&bytes), Some("base64"));
    }
}
