//! Typed data that is signed, and the values that it may have.

use serde_json::{Value, json};
use vestry_domain::signing::{Fields, SigningRefused};

use super::support::{param, rpc};
use super::*;
use crate::ethereum::fields::Field;
use crate::ethereum::typed_data::payload;

/// The example of EIP-712 (assets/eip-712/Example.js).
pub(super) fn mail() -> Value {
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
    keccak256(payload(&Field::new(data, "typed_data")).unwrap()).to_string()
}

pub(super) fn sign(data: &Value) -> Result<Fields, SigningRefused> {
    rpc("eth_signTypedData_v4", json!({ "typed_data": data }))
}

/// Typed data with one structure `T` of one member.
pub(super) fn single(kind: &str, value: Value) -> Value {
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

/// Typed data as text, with a number in the domain and one in the message.
fn text_with(kind: &str, chain_id: &str, number: &str) -> Value {
    json!(format!(
        r#"{{"types":{{"T":[{{"name":"x","type":"{kind}"}}]}},"primaryType":"T","domain":{{"chainId":{chain_id}}},
            "message":{{"x":{number},"more":[0.5,"1",{{"5":1e5}}]}}}}"#
    ))
}

/// Digests by eth-account 0.14.0, whose JSON reader keeps all digits.
#[test]
fn eth_12_numbers_of_any_size_are_taken_digit_by_digit() {
    let most = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    let least = "-57896044618658097711785492504343953926634992332820282019728792003956564819968";
    let chain_id = "18446744073709551617";
    for (kind, number, digest) in [
        (
            "uint256",
            most,
            "a3900127b59419f5dab01d9c17a2974da3ca4e0680c7fa758e477dfd9721b023",
        ),
        (
            "uint256",
            "123456789012345678901234567890",
            "b55abfed914c9279ea189d111aa77bb4c665ea1b928373720bce03fb539c42fa",
        ),
        (
            "int256",
            least,
            "0f94bd7f638863cac4f563b6436a6867692a5a4921e56088f11ae43277219dfd",
        ),
        (
            "uint128",
            "18446744073709551616",
            "9f52d5d290bea37e0f04755dae5c632bb036ddbc8729f8c9e419852860e49eba",
        ),
        (
            "int72",
            "-9223372036854775809",
            "a801b395c6ebad314db3c5242663b341731ec69fd6d215990cc53d4315834788",
        ),
        (
            "uint8",
            "-0",
            "ba56634bb8c5c42a75180c00197c1b0335dc410ca7518cd635bd7c3af8c00c14",
        ),
    ] {
        let text = text_with(kind, chain_id, number);
        assert_eq!(digest_of(&text), format!("0x{digest}"), "{kind} {number}");
        if number != "-0" {
            let as_text = text_with(kind, &format!("\"{chain_id}\""), &format!("\"{number}\""));
            assert_eq!(
                digest_of(&as_text),
                format!("0x{digest}"),
                "{kind} {number}"
            );
        }
    }
    for (kind, number) in [
        ("uint256", format!("{most}0")),
        (
            "uint256",
            "115792089237316195423570985008687907853269984665640564039457584007913129639936".into(),
        ),
        ("uint128", "340282366920938463463374607431768211456".into()),
        ("uint256", "-18446744073709551616".into()),
        ("int256", most.into()),
        ("string", "18446744073709551616".into()),
        ("bytes", "18446744073709551616".into()),
        ("bool", "18446744073709551616".into()),
        ("T", "18446744073709551616".into()),
        ("T[]", "18446744073709551616".into()),
    ] {
        let path = param(sign(&text_with(kind, "1", &number)));
        assert_eq!(path, "params.typed_data.message.x", "{kind} {number}");
    }
}

#[test]
fn eth_12_fractions_and_exponents_are_refused_with_what_to_do() {
    for number in [
        "5.0",
        "-5.0",
        "0.0",
        "1.5",
        "5e0",
        "1e18",
        "1E2",
        "1e-2",
        "18446744073709551616.0",
        "1e77",
    ] {
        let object = single("int256", serde_json::from_str(number).unwrap());
        for data in [text_with("int256", "1", number), object] {
            let Err(SigningRefused::Invalid(refused)) = sign(&data) else {
                panic!("{number} was signed");
            };
            assert_eq!(refused.param, "params.typed_data.message.x", "{number}");
            assert!(
                refused.message.ends_with("send it as a string"),
                "{}",
                refused.message
            );
        }
        let chain = param(sign(&text_with("int256", number, "1")));
        assert_eq!(chain, "params.typed_data.domain.chainId", "{number}");
    }
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
    let [one, other] = [json!(-128), json!("-128")].map(|value| digest_of(&single("int8", value)));
    assert_eq!(one, other);
    let two_to_the_255 =
        "57896044618658097711785492504343953926634992332820282019728792003956564819968";
    sign(&single("int256", json!(format!("-{two_to_the_255}")))).unwrap();
    sign(&single("uint256", json!(format!("0x{}", "ff".repeat(32))))).unwrap();

    for (kind, value) in [
        ("uint8", json!(256)),
        ("uint8", json!(-1)),
        ("uint8", json!("-1")),
        ("uint8", json!(1.5)),
        ("uint8", json!(-1.0)),
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
