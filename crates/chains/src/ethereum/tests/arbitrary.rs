//! Arbitrary requests.

use alloy_dyn_abi::TypedData;
use serde_json::{Value, json};

use super::support::{rpc, transaction};
use super::typed_data::sign;
use super::*;
use crate::ethereum::fields::Field;
use crate::ethereum::typed_data::payload;

fn atoms() -> impl Strategy<Value = (String, Value)> {
    let numbers = prop_oneof![
        any::<i64>().prop_map(|n| json!(n)),
        any::<i128>().prop_map(|n| json!(n.to_string()))
    ];
    let bits = (1_usize..=32).prop_map(|bytes| bytes * 8);
    let bytes = prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        (bits, any::<bool>(), numbers).prop_map(|(bits, signed, number)| {
            (
                format!("{}int{bits}", if signed { "" } else { "u" }),
                number,
            )
        }),
        any::<bool>().prop_map(|value| ("bool".to_owned(), json!(value))),
        any::<String>().prop_map(|value| ("string".to_owned(), json!(value))),
        any::<[u8; 20]>().prop_map(|value| {
            (
                "address".to_owned(),
                json!(Address::from(value).to_checksum(None)),
            )
        }),
        bytes.prop_map(|value| ("bytes".to_owned(), json!(hex::encode_prefixed(value)))),
        prop::collection::vec(any::<u8>(), 1..=32).prop_map(|value| {
            (
                format!("bytes{}", value.len()),
                json!(hex::encode_prefixed(value)),
            )
        }),
    ]
}

/// A structure of atoms, arrays of them, and a nested structure.
fn structures() -> impl Strategy<Value = Value> {
    prop::collection::vec((atoms(), 0_usize..4), 1..6).prop_map(|members| {
        let mut types = Vec::new();
        let mut values = serde_json::Map::new();
        for (place, ((kind, value), form)) in members.into_iter().enumerate() {
            let name = format!("m{place}");
            let (kind, value) = match form {
                0 => (kind, value),
                1 => (format!("{kind}[]"), json!([value, value])),
                2 => (format!("{kind}[1][]"), json!([[value]])),
                _ => (format!("{kind}[2]"), json!([value, value])),
            };
            types.push(json!({ "name": name, "type": kind }));
            values.insert(name, value);
        }
        json!({
            "types": {
                "Outer": [{ "name": "inner", "type": "Inner" }, { "name": "list", "type": "Inner[]" }],
                "Inner": types,
                "EIP712Domain": [{ "name": "name", "type": "string" }],
            },
            "primaryType": "Outer",
            "domain": { "name": "n" },
            "message": { "inner": values, "list": [values] },
        })
    })
}

fn arbitrary_json() -> impl Strategy<Value = Value> {
    let words = prop_oneof![
        Just("types"),
        Just("T"),
        Just("name"),
        Just("type"),
        Just("domain"),
        Just("message"),
        Just("primaryType"),
        Just("uint8"),
        Just("T[]"),
        Just("chainId"),
        Just("0x1"),
        Just("x"),
        Just("nonce"),
        Just("gas"),
        Just("to"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        let name = words.clone().prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// alloy's own hashing of typed data, which reads values more freely, as the second opinion.
    #[test]
    fn what_is_accepted_has_the_digest_that_alloy_computes(data in structures()) {
        let theirs: Result<TypedData, _> = serde_json::from_value(data.clone());
        let theirs = theirs.ok().and_then(|data| data.eip712_signing_hash().ok());
        let ours = payload(&Field::new(&data, "typed_data")).ok().map(keccak256);
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn arbitrary_json_is_refused_or_signed_and_nothing_else(value in arbitrary_json(), other in arbitrary_json()) {
        let _ = sign(&value);
        let _ = transaction(value.clone());
        let types = json!({ "T": [{ "name": "x", "type": "uint8" }, { "name": "name", "type": "T[]" }] });
        let _ = sign(&json!({ "types": types, "primaryType": "T", "domain": value, "message": other }));
        for method in ["personal_sign", "eth_sign7702Authorization", "eth_signUserOperation", "eth_signTransaction"] {
            if value.is_object() {
                let _ = rpc(method, value.clone());
            }
            let _ = rpc(method, json!({ "transaction": value, "message": value, "contract": other, "user_operation": value }));
        }
    }
}
