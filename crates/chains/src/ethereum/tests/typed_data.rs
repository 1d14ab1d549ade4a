//! Typed data: the standard's example, what other libraries compute, and what is refused.

use alloy_dyn_abi::TypedData;
use serde_json::{Value, json};
use vestry_domain::signing::{Fields, SigningRefused};

use crate::ethereum::fields::Field;
use crate::ethereum::typed_data::digest;

use super::support::{param, rpc};
use super::*;

/// The example of EIP-712 (assets/eip-712/Example.js).
fn mail() -> Value {
    json!({
        "types": {
            "EIP712Domain": [
                { "name": "name", "type": "string" },
                { "name": "version", "type": "string" },
                { "name": "chainId", "type": "uint256" },
                { "name": "verifyingContract", "type": "address" },
            ],
            "Person": [
                { "name": "name", "type": "string" },
                { "name": "wallet", "type": "address" },
            ],
            "Mail": [
                { "name": "from", "type": "Person" },
                { "name": "to", "type": "Person" },
                { "name": "contents", "type": "string" },
            ],
        },
        "primaryType": "Mail",
        "domain": {
            "name": "Ether Mail", "version": "1", "chainId": 1,
            "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
        },
        "message": {
            "from": { "name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826" },
            "to": { "name": "Bob", "wallet": "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB" },
            "contents": "Hello, Bob!",
        },
    })
}

fn digest_of(data: &Value) -> String {
    digest(&Field::new(data, "typed_data")).unwrap().to_string()
}

fn sign(data: &Value) -> Result<Fields, SigningRefused> {
    rpc("eth_signTypedData_v4", json!({ "typed_data": data }))
}

/// Typed data with one structure `T` of one member.
fn single(kind: &str, value: Value) -> Value {
    json!({
        "types": { "T": [{ "name": "x", "type": kind }] },
        "primaryType": "T",
        "domain": {},
        "message": { "x": value },
    })
}

#[test]
fn the_example_of_the_standard_has_its_digest_and_signature() {
    assert_eq!(
        digest_of(&mail()),
        "0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2"
    );
    let chain = ethereum();
    let cow = chain.private_key(keccak256("cow").as_slice()).unwrap();
    let request = SigningRequest::Method {
        name: "eth_signTypedData_v4".to_owned(),
        params: Fields::from_iter([("typed_data".to_owned(), mail())]),
    };
    let fields = super::support::sign(&cow, &request).unwrap();
    assert_eq!(
        Value::Object(fields),
        json!({
            "signature": "0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b915621c",
            "encoding": "hex",
        })
    );
}

#[test]
fn a_string_of_json_and_the_other_name_of_the_primary_type_say_the_same() {
    let expected = sign(&mail()).unwrap();
    assert_eq!(sign(&json!(mail().to_string())).unwrap(), expected);
    let mut renamed = mail();
    let primary = renamed
        .as_object_mut()
        .unwrap()
        .remove("primaryType")
        .unwrap();
    renamed["primary_type"] = primary.clone();
    assert_eq!(sign(&renamed).unwrap(), expected);
    renamed["primaryType"] = primary;
    assert_eq!(sign(&renamed).unwrap(), expected);
    renamed["primaryType"] = json!("Person");
    assert_eq!(param(sign(&renamed)), "params.typed_data.primary_type");
}

/// Without `EIP712Domain` the type of the domain follows from its members, in the order of the standard.
#[test]
fn a_domain_without_a_type_has_that_of_its_members() {
    let mut untyped = mail();
    untyped["types"]
        .as_object_mut()
        .unwrap()
        .remove("EIP712Domain");
    assert_eq!(digest_of(&untyped), digest_of(&mail()));
    for chain in [json!("1"), json!("0x1"), json!("0x01")] {
        untyped["domain"]["chainId"] = chain;
        assert_eq!(digest_of(&untyped), digest_of(&mail()));
    }
    // Members in another order.
    let domain = untyped["domain"].as_object().unwrap().clone();
    untyped["domain"] = Value::Object(domain.into_iter().rev().collect());
    assert_eq!(digest_of(&untyped), digest_of(&mail()));
}

#[test]
fn a_domain_has_what_its_type_has_and_nothing_else() {
    let mut more = mail();
    more["domain"]["salt"] = json!(format!("0x{}", "00".repeat(32)));
    assert_eq!(param(sign(&more)), "params.typed_data.domain.salt");
    more["types"]
        .as_object_mut()
        .unwrap()
        .remove("EIP712Domain");
    sign(&more).unwrap();
    more["domain"]["site"] = json!("example.org");
    assert_eq!(param(sign(&more)), "params.typed_data.domain.site");

    let mut less = mail();
    less["domain"].as_object_mut().unwrap().remove("chainId");
    assert_eq!(param(sign(&less)), "params.typed_data.domain.chainId");
}

/// EIP-712 allows structures that refer to themselves and to each other; values of them are finite.
#[test]
fn structures_may_refer_to_themselves_and_to_each_other() {
    let data = json!({
        "types": {
            "Tree": [{ "name": "leaf", "type": "Leaf" }, { "name": "trees", "type": "Tree[]" }],
            "Leaf": [{ "name": "size", "type": "uint8" }, { "name": "trees", "type": "Tree[]" }],
        },
        "primaryType": "Tree",
        "domain": {},
        "message": { "leaf": { "size": 1, "trees": [] }, "trees": [{ "leaf": { "size": 2, "trees": [] }, "trees": [] }] },
    });
    let word = |number: u8| alloy_primitives::B256::with_last_byte(number);
    let leaf_type = keccak256("Leaf(uint8 size,Tree[] trees)Tree(Leaf leaf,Tree[] trees)");
    let tree_type = keccak256("Tree(Leaf leaf,Tree[] trees)Leaf(uint8 size,Tree[] trees)");
    let none = keccak256("");
    let leaf = |size| keccak256([leaf_type, word(size), none].concat());
    let inner = keccak256([tree_type, leaf(2), none].concat());
    let outer = keccak256([tree_type, leaf(1), keccak256(inner)].concat());
    let domain = keccak256(keccak256("EIP712Domain()"));
    let expected = keccak256([&[0x19, 0x01], domain.as_slice(), outer.as_slice()].concat());
    assert_eq!(digest_of(&data), expected.to_string());
}

#[test]
fn numbers_are_read_from_json_decimal_and_hex_and_have_bounds() {
    for (kind, same) in [
        (
            "uint8",
            [json!(255), json!("255"), json!("0xff"), json!("0x00ff")],
        ),
        (
            "int8",
            [json!(127), json!("127"), json!("0x7f"), json!("00127")],
        ),
        (
            "int256",
            [
                json!(9_007_199_254_740_993_u64),
                json!("9007199254740993"),
                json!("0x20000000000001"),
                json!("0x020000000000001"),
            ],
        ),
    ] {
        for value in &same[1..] {
            assert_eq!(
                digest_of(&single(kind, value.clone())),
                digest_of(&single(kind, same[0].clone())),
                "{kind}"
            );
        }
    }
    assert_eq!(
        digest_of(&single("int8", json!(-128))),
        digest_of(&single("int8", json!("-128")))
    );
    let two_to_the_255 =
        "57896044618658097711785492504343953926634992332820282019728792003956564819968";
    sign(&single("int256", json!(format!("-{two_to_the_255}")))).unwrap();
    sign(&single("uint256", json!(format!("0x{}", "ff".repeat(32))))).unwrap();

    for (kind, value) in [
        ("uint8", json!(256)),
        ("uint8", json!(-1)),
        ("uint8", json!("-1")),
        ("uint8", json!(1.0)),
        ("uint8", json!("")),
        ("uint8", json!("0x")),
        ("uint8", json!("1_0")),
        ("uint8", json!(" 1")),
        ("uint8", json!("1e1")),
        ("uint8", json!(true)),
        ("uint8", json!("0b1")),
        ("uint8", json!("+1")),
        ("uint256", json!(1e30)),
        ("uint256", json!(format!("0x1{}", "00".repeat(32)))),
        (
            "uint256",
            json!("115792089237316195423570985008687907853269984665640564039457584007913129639936"),
        ),
        ("int8", json!(128)),
        ("int8", json!(-129)),
        ("int8", json!("-0x1")),
        ("int8", json!("--1")),
        ("int8", json!("-")),
        ("int256", json!(two_to_the_255)),
        ("int256", json!(format!("0x{}", "ff".repeat(32)))),
        (
            "int256",
            json!("-57896044618658097711785492504343953926634992332820282019728792003956564819969"),
        ),
        ("bool", json!("true")),
        ("bool", json!(1)),
        ("bool", json!("false")),
        ("address", json!("0x0")),
        (
            "address",
            json!("0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbb"),
        ),
        ("bytes4", json!("0x112233")),
        ("bytes4", json!("0x1122334455")),
        ("bytes4", json!("11223344")),
        ("bytes", json!("0x1")),
        ("bytes", json!("text")),
        ("bytes", json!([1, 2])),
        ("string", json!(5)),
        ("uint8[]", json!(5)),
        ("uint8[2]", json!([1])),
        ("uint8[2]", json!([1, 2, 3])),
        ("string", json!(null)),
        ("T[]", json!({})),
    ] {
        assert_eq!(
            param(sign(&single(kind, value.clone()))),
            "params.typed_data.message.x",
            "{kind} {value}"
        );
    }
    assert_eq!(
        param(sign(&single("uint8[2][]", json!([[1, 2], [3]])))),
        "params.typed_data.message.x[1]"
    );
    assert_eq!(
        param(sign(&single("uint8[]", json!([1, 256])))),
        "params.typed_data.message.x[1]"
    );
}

#[test]
fn types_that_are_none_are_refused_where_they_stand() {
    for kind in [
        "uint",
        "int",
        "uint7",
        "uint264",
        "uint08",
        "uint0",
        "bytes0",
        "bytes33",
        "function",
        "",
        "[]",
        "uint8[",
        "uint8]",
        "uint8[-1]",
        "uint8[01]",
        "uint8[x]",
        "uint8[] ",
        "(uint8)",
        "uint8,T",
        "Unknown",
        "T x",
        "U[]",
        "uint8[99999999999999999999999]",
        "ufixed128x18",
        "1T",
    ] {
        assert_eq!(
            param(sign(&single(kind, json!(1)))),
            "params.typed_data.types.T[0].type",
            "{kind}"
        );
    }
    let deep = format!("uint8{}", "[]".repeat(33));
    assert_eq!(
        param(sign(&single(&deep, json!([])))),
        "params.typed_data.types.T[0].type"
    );
    for (pointer, value, path) in [
        ("/types", json!(null), "types"),
        ("/types", json!([]), "types"),
        ("/types/Mail", json!({}), "types.Mail"),
        ("/types/Mail/0", json!("Person from"), "types.Mail[0]"),
        ("/types/Mail/0/name", json!(null), "types.Mail[0].name"),
        ("/types/Mail/0/name", json!("a b"), "types.Mail[0].name"),
        ("/types/Mail/0/name", json!("to"), "types.Mail[1].name"),
        ("/types/Mail/0/type", json!(1), "types.Mail[0].type"),
        ("/primaryType", json!(null), "primaryType"),
        ("/primaryType", json!("Post"), "primaryType"),
        ("/primaryType", json!("EIP712Domain"), "primaryType"),
        ("/primaryType", json!("Mail[]"), "primaryType"),
        ("/domain", json!(null), "domain"),
        ("/domain", json!("x"), "domain"),
        ("/message", json!(null), "message"),
        ("/message", json!([]), "message"),
        ("/message/from", json!(null), "message.from"),
        ("/message/from/name", json!(null), "message.from.name"),
    ] {
        let mut changed = mail();
        *changed.pointer_mut(pointer).unwrap() = value.clone();
        assert_eq!(
            param(sign(&changed)),
            format!("params.typed_data.{path}"),
            "{pointer} {value}"
        );
    }
    for name in ["uint8", "address", "a b", "A(", "A,B", "", "1A", "bytes[]"] {
        let mut changed = mail();
        changed["types"][name] = json!([]);
        assert_eq!(
            param(sign(&changed)),
            format!("params.typed_data.types.{name}")
        );
    }
    for text in ["", "{", "[]", "5", "{}{}"] {
        let path = param(sign(&json!(text)));
        assert_eq!(path, "params.typed_data", "{text}");
    }
    assert_eq!(
        param(rpc("eth_signTypedData_v4", json!({}))),
        "params.typed_data"
    );
}

/// A few kilobytes of types can stand for a tree of 2^60 structures; what is worked on is what there are values for.
#[test]
fn types_that_multiply_and_values_that_are_deep_end_quickly() {
    let mut types = serde_json::Map::new();
    for level in 0..60 {
        let next = format!("T{}", level + 1);
        let members = json!([{ "name": "a", "type": next }, { "name": "b", "type": next }]);
        types.insert(format!("T{level}"), members);
    }
    types.insert("T60".to_owned(), json!([]));
    let data = json!({ "types": types, "primaryType": "T0", "domain": {}, "message": { "a": {} } });
    assert_eq!(param(sign(&data)), "params.typed_data.message.a.a");

    let mut message = json!({ "x": [] });
    for _ in 0..40 {
        message = json!({ "x": [message] });
    }
    let deep = json!({
        "types": { "T": [{ "name": "x", "type": "T[]" }] }, "primaryType": "T", "domain": {}, "message": message,
    });
    assert!(param(sign(&deep)).starts_with("params.typed_data.message.x[0].x[0]"));
}

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
        let ours = digest(&Field::new(&data, "typed_data")).ok();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn arbitrary_json_is_refused_or_signed_and_nothing_else(value in arbitrary_json(), other in arbitrary_json()) {
        let _ = sign(&value);
        let _ = super::support::transaction(value.clone());
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
