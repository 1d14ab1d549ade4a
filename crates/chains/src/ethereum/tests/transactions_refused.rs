//! Transactions that are refused, and under which name.

use serde_json::{Value, json};

use super::samples::{authorization, every_type, example, recovered, refused, with, without};
use super::support::{ABANDON_ADDRESS, param, rpc, transaction};
use super::*;

/// ETH-3.
#[test]
fn a_type_that_contradicts_a_field_is_refused_under_the_name_of_the_field() {
    for (number, field, value) in [
        ("0x0", "accessList", json!([])),
        ("0x0", "maxFeePerGas", json!("0x1")),
        ("0x1", "maxPriorityFeePerGas", json!("0x1")),
        ("0x2", "gasPrice", json!("0x1")),
        ("0x2", "maxFeePerBlobGas", json!("0x1")),
        ("0x2", "blobVersionedHashes", json!([])),
        ("0x2", "blobs", json!([])),
        ("0x2", "sidecar", json!({})),
        ("0x2", "authorizationList", json!([])),
        ("0x3", "authorizationList", json!([])),
        ("0x4", "blobVersionedHashes", json!([])),
    ] {
        let base = json!({ "type": number, "chainId": "0x1", "nonce": "0x0", "gas": "0x1" });
        let path = format!("eth_transaction.{field}");
        assert_eq!(
            refused(with(base, json!({ field: value }))),
            path,
            "{number}"
        );
    }
    assert_eq!(
        refused(with(example(), json!({ "gasPrice": "0x1" }))),
        "eth_transaction.gasPrice"
    );
    for unknown in ["0x5", "0x6", "0x7f", "0x100"] {
        assert_eq!(
            refused(with(example(), json!({ "type": unknown }))),
            "eth_transaction.type"
        );
    }
    let no_fee = json!({ "chainId": "0x1", "nonce": "0x0", "gas": "0x1" });
    assert_eq!(refused(no_fee), "eth_transaction.type");
}

/// ETH-4.
#[test]
fn what_is_missing_is_named() {
    let required: [&[&str]; 5] = [
        &["gasPrice"],
        &["gasPrice"],
        &["maxFeePerGas", "maxPriorityFeePerGas"],
        &[
            "maxFeePerGas",
            "maxPriorityFeePerGas",
            "maxFeePerBlobGas",
            "blobVersionedHashes",
            "to",
        ],
        &[
            "maxFeePerGas",
            "maxPriorityFeePerGas",
            "authorizationList",
            "to",
        ],
    ];
    for (number, (value, special)) in every_type().into_iter().zip(required).enumerate() {
        let value = with(value, json!({ "type": format!("{number:#x}") }));
        for name in special.iter().chain(&["chainId", "nonce", "gas"]) {
            let path = format!("eth_transaction.{name}");
            assert_eq!(refused(without(value.clone(), name)), path, "type {number}");
            let null = with(value.clone(), json!({ *name: null }));
            assert_eq!(refused(null), path, "type {number}");
        }
    }
}

/// ETH-4.
#[test]
fn nothing_is_guessed_from_values_of_another_form() {
    let quantities = [
        "value",
        "nonce",
        "gas",
        "chainId",
        "maxFeePerGas",
        "maxPriorityFeePerGas",
        "type",
    ];
    let wrong = [
        json!(8),
        json!(8.0),
        json!("8"),
        json!("0x"),
        json!(""),
        json!("0X8"),
        json!("0x8g"),
        json!("0x8 "),
        json!(" 0x8"),
        json!("0x_8"),
        json!("-0x8"),
        json!(true),
        json!([]),
        json!({}),
        json!(format!("0x{}1", "0".repeat(64))),
    ];
    for name in quantities {
        for value in &wrong {
            let changed = with(example(), json!({ name: value }));
            assert_eq!(
                refused(changed),
                format!("eth_transaction.{name}"),
                "{value}"
            );
        }
    }
    for (name, value) in [
        ("nonce", "0x10000000000000000"),
        ("nonce", "0xffffffffffffffff"),
        ("gas", "0x10000000000000000"),
        ("chainId", "0x0"),
        ("chainId", "0x7fffffffffffffdc"),
        ("chainId", "0x10000000000000000"),
        ("maxFeePerGas", "0x100000000000000000000000000000000"),
        ("to", "0x"),
        ("to", "0x0xe9534c9faf3cdbc636c25e1981a80efae03f187a"),
        ("to", "0x0Xe9534c9faf3cdbc636c25e1981a80efae03f187a"),
        ("to", "0xe9534c9faf3cdbc636c25e1981a80efae03f187"),
        ("to", "e9534c9faf3cdbc636c25e1981a80efae03f187a"),
        // One letter in the other case.
        ("to", "0xe9534C9fAF3cDBc636c25E1981A80EfaE03f187a"),
        ("data", "0x123"),
        ("data", "1234"),
        ("data", "0x12zz"),
        ("input", "0x1"),
    ] {
        let changed = with(example(), json!({ name: value }));
        assert_eq!(
            refused(changed),
            format!("eth_transaction.{name}"),
            "{value}"
        );
    }
    for value in [json!(null), json!("0x02"), json!([]), json!(7), json!(true)] {
        assert_eq!(refused(value), "eth_transaction");
    }
    let method = json!({ "transaction": with(example(), json!({ "nonce": 8 })) });
    assert_eq!(
        param(rpc("eth_signTransaction", method)),
        "params.transaction.nonce"
    );
    assert_eq!(
        param(rpc("eth_signTransaction", json!({}))),
        "params.transaction"
    );
}

/// ETH-5.
#[test]
fn contradictions_are_refused() {
    for (changes, path) in [
        (json!({ "gasLimit": "0x5209" }), "gasLimit"),
        (json!({ "data": "0x12", "input": "0x13" }), "input"),
        (
            json!({ "from": "0xE9534C9fAF3cDBc636c25E1981A80EfaE03f187a" }),
            "from",
        ),
        (
            json!({ "from": "0x9858effd232B4033E47d90003D41EC34EcaEda94" }),
            "from",
        ),
        (
            json!({ "maxPriorityFeePerGas": "0xdf8475801" }),
            "maxPriorityFeePerGas",
        ),
    ] {
        let changed = with(example(), changes);
        assert_eq!(refused(changed), format!("eth_transaction.{path}"));
    }
    transaction(with(
        example(),
        json!({ "maxPriorityFeePerGas": "0xdf8475800" }),
    ))
    .unwrap();
}

#[test]
fn what_is_wrong_inside_a_list_is_named_by_its_place() {
    let [_, with_access, _, _, set_code] = every_type();
    let key = format!("0x{}", "ab".repeat(32));
    let address = "0xe9534c9faf3cdbc636c25e1981a80efae03f187a";
    for (list, path) in [
        (json!({}), ""),
        (json!([1]), "[0]"),
        (json!([{ "storageKeys": [] }]), "[0].address"),
        (json!([{ "address": address }]), "[0].storageKeys"),
        (
            json!([{ "address": "0x1", "storageKeys": [] }]),
            "[0].address",
        ),
        (
            json!([{ "address": address, "storageKeys": [key, "0x1"] }]),
            "[0].storageKeys[1]",
        ),
        (
            json!([{ "address": address, "storageKeys": [key] }, []]),
            "[1]",
        ),
    ] {
        let changed = with(with_access.clone(), json!({ "accessList": list }));
        assert_eq!(
            refused(changed),
            format!("eth_transaction.accessList{path}")
        );
    }
    let good = set_code["authorizationList"][0].clone();
    for (list, path) in [
        (json!([]), ""),
        (json!("0x"), ""),
        (json!([good.clone(), null]), "[1]"),
        (
            json!([with(good.clone(), json!({ "yParity": "0x2" }))]),
            "[0].yParity",
        ),
        (
            json!([with(good.clone(), json!({ "yParity": "0x1b" }))]),
            "[0].yParity",
        ),
        (
            json!([with(
                good.clone(),
                json!({ "nonce": "0x10000000000000000" })
            )]),
            "[0].nonce",
        ),
        (json!([without(good.clone(), "chainId")]), "[0].chainId"),
        (json!([without(good.clone(), "address")]), "[0].address"),
        (json!([without(good.clone(), "r")]), "[0].r"),
        (json!([with(good.clone(), json!({ "s": 1 }))]), "[0].s"),
    ] {
        let changed = with(set_code.clone(), json!({ "authorizationList": list }));
        assert_eq!(
            refused(changed),
            format!("eth_transaction.authorizationList{path}")
        );
    }
}

/// A chain skips such an authorization, and executes the rest of the transaction all the same.
#[test]
fn eth_11_an_authorization_that_the_chain_would_skip_is_refused() {
    let set_code = |list: Value| {
        with(
            every_type()[4].clone(),
            json!({ "authorizationList": list }),
        )
    };
    let good = authorization();
    transaction(set_code(json!([good]))).unwrap();
    // eth-account 0.14.0, by the same key: for every chain, and for chain 5.
    let for_all = json!({
        "chainId": "0x0", "yParity": "0x0",
        "r": "0x7f7ca37f704c6254bffec71628a9a6efa557197a93e1e54b825feb48da3a92a5",
        "s": "0x62df9b0f3f38a623eb9ab4996fb254023e9d018711fe5570247743843b138b34",
    });
    let for_another = json!({
        "chainId": "0x5",
        "r": "0x42fdeb8daefe5bea33658647ac9f8fc1aa39b2ba6b9bbe06bd3cf150d3213b1c",
        "s": "0x7851166c502deaa9800bd1ec8c9b4099da707b858ee6c91684915014b1b4f81f",
    });
    transaction(set_code(json!([with(good.clone(), for_all)]))).unwrap();
    let order = "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    let above_half = "0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a1";
    // The same signature, with the other s: valid to the curve, skipped by a chain.
    let high = "0xd06ced1b71f257597fd1d997d8d3c3512c786d71240eca3acd5d7b9cf150d098";
    for (changes, name) in [
        (for_another, "chainId"),
        (json!({ "chainId": "0x10000000000000001" }), "chainId"),
        (json!({ "s": high, "yParity": "0x0" }), "s"),
        (json!({ "s": above_half }), "s"),
        (json!({ "s": order }), "s"),
        (json!({ "s": "0x0" }), "r"),
        (json!({ "r": "0x0" }), "r"),
        (json!({ "r": order }), "r"),
        // No point of the curve has this x.
        (json!({ "r": "0x5" }), "r"),
        (json!({ "nonce": "0xffffffffffffffff" }), "nonce"),
    ] {
        let refused = refused(set_code(json!([with(good.clone(), changes.clone())])));
        assert_eq!(
            refused,
            format!("eth_transaction.authorizationList[0].{name}"),
            "{changes}"
        );
    }
    // Each authorization that is valid uses a nonce of its account.
    let twice = refused(set_code(json!([good, good])));
    assert_eq!(twice, "eth_transaction.authorizationList[1].nonce");
    let own = |nonce: &str| {
        let params = json!({ "contract": ABANDON_ADDRESS, "chainId": "0x1", "nonce": nonce });
        rpc("eth_sign7702Authorization", params).unwrap()["authorization"].clone()
    };
    transaction(set_code(json!([own("0x1"), good, own("0x2")]))).unwrap();
    for (list, place) in [
        (json!([own("0x0")]), 0),
        (json!([own("0x2")]), 0),
        (json!([own("0x1"), good, own("0x1")]), 2),
    ] {
        let path = format!("eth_transaction.authorizationList[{place}].nonce");
        assert_eq!(refused(set_code(list)), path);
    }
}

/// `data` fills a transaction up to what nodes take, and not a byte more.
#[test]
fn oversized_data_is_refused_before_it_is_read() {
    let most = format!("0x{}", "00".repeat(128 * 1024));
    transaction(with(example(), json!({ "data": most }))).unwrap();
    let more = format!("{most}00");
    assert_eq!(
        refused(with(example(), json!({ "data": more }))),
        "eth_transaction.data"
    );
}

/// Each character of the transaction in turn becomes another one, or ends the text.
#[test]
fn a_changed_character_is_refused_or_changes_what_is_signed() {
    for value in every_type() {
        let signed = transaction(value.clone()).unwrap();
        let text = value.to_string();
        for place in 0..text.len() {
            assert!(serde_json::from_str::<Value>(&text[..place]).is_err());
            for character in ["0", "7", "g", "\""] {
                let changed = format!("{}{character}{}", &text[..place], &text[place + 1..]);
                let Ok(changed) = serde_json::from_str::<Value>(&changed) else {
                    continue;
                };
                let fields = match transaction(changed.clone()) {
                    Err(_refused) => continue,
                    Ok(fields) => fields,
                };
                let encoded = hex::decode(fields["signed_transaction"].as_str().unwrap()).unwrap();
                assert_eq!(recovered(&encoded), ABANDON_ADDRESS);
                assert!(changed == value || fields != signed, "{changed}");
            }
        }
    }
}
