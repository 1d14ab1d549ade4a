//! Transactions: what is signed, and what is refused under which name.

use alloy_consensus::TxEip1559;
use alloy_consensus::transaction::RlpEcdsaDecodableTx;
use serde_json::{Value, json};

use super::support::{ABANDON_ADDRESS, param, rpc, transaction};
use super::*;

/// The example of the user's document.
fn example() -> Value {
    json!({
        "to": "0xE9534C9fAF3cDBc636c25E1981A80EfaE03f187a",
        "value": "0x38d7ea4c68000",
        "nonce": "0x8",
        "maxPriorityFeePerGas": "0x77359400",
        "maxFeePerGas": "0xdf8475800",
        "gas": "0x5208",
        "chainId": "0x5",
    })
}

/// eth-account 0.14.0 over the same fields (chains.md, section 1).
const EXAMPLE_SIGNED: &str = "0x02f87205088477359400850df847580082520894e9534c9faf3cdbc636c25e1981a80efae03f187a87038d7ea4c6800080c080a01c00898e70541765b8f3f17ed4447268771bcf7b1ae4e97949b7215ada02f947a0128c278143782331e81a30a125f0806b6c2e569a4ac05104becb3738e281b5f7";

fn with(mut transaction: Value, changes: Value) -> Value {
    let fields = transaction.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        fields.insert(name.clone(), value.clone());
    }
    transaction
}

fn without(mut transaction: Value, name: &str) -> Value {
    transaction.as_object_mut().unwrap().remove(name).unwrap();
    transaction
}

fn refused(value: Value) -> String {
    param(transaction(value))
}

/// One good transaction of each type.
fn every_type() -> [Value; 5] {
    let base = json!({
        "to": "0xe9534c9faf3cdbc636c25e1981a80efae03f187a",
        "nonce": "0x0", "gas": "0x5208", "chainId": "0x1", "data": "0x",
    });
    let priced = with(base.clone(), json!({ "gasPrice": "0x3b9aca00" }));
    let dynamic = with(
        base,
        json!({ "maxFeePerGas": "0x2", "maxPriorityFeePerGas": "0x1" }),
    );
    let hash = format!("0x01{}", "22".repeat(31));
    let blob = json!({ "maxFeePerBlobGas": "0x1", "blobVersionedHashes": [hash] });
    let authorization = json!({
        "chainId": "0x0", "address": "0xe9534c9faf3cdbc636c25e1981a80efae03f187a", "nonce": "0x1",
        "yParity": "0x1", "r": "0x12", "s": "0x34",
    });
    [
        priced.clone(),
        with(priced, json!({ "accessList": [] })),
        dynamic.clone(),
        with(dynamic.clone(), blob),
        with(dynamic, json!({ "authorizationList": [authorization] })),
    ]
}

#[test]
fn the_example_of_the_document_is_signed_as_eth_account_signs_it() {
    let fields = transaction(example()).unwrap();
    assert_eq!(fields.len(), 2);
    assert_eq!(fields["signed_transaction"], EXAMPLE_SIGNED);
    // r and s end the encoding, each behind its length; the parity before them is 0.
    let (r, s) = (
        &EXAMPLE_SIGNED[EXAMPLE_SIGNED.len() - 130..],
        &EXAMPLE_SIGNED[EXAMPLE_SIGNED.len() - 64..],
    );
    assert_eq!(fields["signature"], format!("0x{}{s}1b", &r[..64]));
}

#[test]
fn the_method_answers_with_the_same_transaction_and_the_name_of_its_encoding() {
    let fields = rpc("eth_signTransaction", json!({ "transaction": example() })).unwrap();
    assert_eq!(
        Value::Object(fields),
        json!({ "signed_transaction": EXAMPLE_SIGNED, "encoding": "rlp" })
    );
}

#[test]
fn the_type_follows_from_the_fields_and_may_be_given() {
    for (number, value) in every_type().into_iter().enumerate() {
        let inferred = transaction(value.clone()).unwrap();
        let encoded = hex::decode(inferred["signed_transaction"].as_str().unwrap()).unwrap();
        // A legacy transaction is a bare list.
        let first = if number == 0 {
            0xf8
        } else {
            u8::try_from(number).unwrap()
        };
        assert_eq!(encoded[0], first, "type {number}");

        for text in [format!("{number:#x}"), format!("0x0{number}")] {
            let given = with(value.clone(), json!({ "type": text }));
            assert_eq!(transaction(given).unwrap(), inferred, "type {number}");
        }
        for other in (0..5).filter(|other| *other != number) {
            let contradicting = with(value.clone(), json!({ "type": format!("{other:#x}") }));
            // What type 1 has is all in the others but for the price, and an access list may be missing from it.
            if (number, other) == (0, 1) {
                transaction(contradicting).unwrap();
            } else {
                assert_ne!(refused(contradicting), "", "type {number} as {other}");
            }
        }
    }
}

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

#[test]
fn without_a_recipient_a_contract_is_created_by_types_0_to_2_only() {
    for (number, value) in every_type().into_iter().enumerate() {
        let absent = without(value.clone(), "to");
        let null = with(value, json!({ "to": null }));
        if number < 3 {
            assert_eq!(
                transaction(absent.clone()).unwrap(),
                transaction(null).unwrap()
            );
        } else {
            assert_eq!(refused(absent), "eth_transaction.to");
            assert_eq!(refused(null), "eth_transaction.to");
        }
    }
    let created = transaction(without(example(), "to")).unwrap();
    let encoded = hex::decode(created["signed_transaction"].as_str().unwrap()).unwrap();
    let decoded = TxEip1559::eip2718_decode(&mut encoded.as_slice()).unwrap();
    assert!(decoded.tx().to.is_create());
}

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

#[test]
fn other_ways_to_write_the_same_change_nothing() {
    let lower = EXAMPLE_SIGNED;
    for same in [
        json!({ "nonce": "0x08" }),
        json!({ "nonce": format!("0x{:064x}", 8) }),
        json!({ "maxFeePerGas": "0xDF8475800" }),
        json!({ "gasLimit": "0x005208" }),
        json!({ "to": "0xe9534c9faf3cdbc636c25e1981a80efae03f187a" }),
        json!({ "to": "0xE9534C9FAF3CDBC636C25E1981A80EFAE03F187A" }),
        json!({ "data": "0x" }),
        json!({ "data": "0x", "input": "0x" }),
        json!({ "accessList": [] }),
        json!({ "from": ABANDON_ADDRESS }),
        json!({ "from": ABANDON_ADDRESS.to_lowercase() }),
        json!({ "from": null, "data": null, "type": null }),
        json!({ "comment": "unknown fields are not looked at" }),
    ] {
        let fields = transaction(with(example(), same.clone())).unwrap();
        assert_eq!(fields["signed_transaction"], lower, "{same}");
    }
    let renamed = with(without(example(), "gas"), json!({ "gasLimit": "0x5208" }));
    assert_eq!(transaction(renamed).unwrap()["signed_transaction"], lower);
    let worthless = without(example(), "value");
    assert_eq!(
        transaction(worthless.clone()).unwrap(),
        transaction(with(worthless, json!({ "value": "0x0" }))).unwrap()
    );
}

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
        (json!([good, null]), "[1]"),
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
        (json!([with(good, json!({ "s": 1 }))]), "[0].s"),
    ] {
        let changed = with(set_code.clone(), json!({ "authorizationList": list }));
        assert_eq!(
            refused(changed),
            format!("eth_transaction.authorizationList{path}")
        );
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

#[test]
fn a_key_of_another_wallet_signs_nothing() {
    let chain = ethereum();
    let public_key = chain.public_key(&key(ABANDON)).unwrap();
    let signer = Signer {
        public_key: &public_key,
        address: ABANDON_ADDRESS,
        environment: Environment::Test,
    };
    let request = SigningRequest::Transaction(example());
    let prepared = chain.prepare(&request, signer).unwrap();
    let mut nothing = |_bytes: &mut [u8]| {};
    assert_eq!(
        prepared.sign(&small(7), &mut nothing),
        Err(ChainError::Signature)
    );
    assert!(prepared.sign(&key(ABANDON), &mut nothing).is_ok());
}

proptest! {
    /// Every change of one character of a good transaction is refused, or signed as what it now says.
    #[test]
    fn a_changed_character_is_refused_or_signed_as_it_stands(
        number in 0_usize..5, place in any::<prop::sample::Index>(), character in "[0-9a-fA-FxX\":,]",
    ) {
        let text = every_type()[number].to_string();
        let place = place.index(text.len());
        let changed = format!("{}{character}{}", &text[..place], &text[place + 1..]);
        if let Ok(value) = serde_json::from_str::<Value>(&changed)
            && let Ok(fields) = transaction(value)
        {
            let encoded = hex::decode(fields["signed_transaction"].as_str().unwrap()).unwrap();
            prop_assert_eq!(recovered(&encoded), ABANDON_ADDRESS);
        }
    }
}

/// The sender of an encoded transaction, by alloy's decoder and our recovery.
pub(super) fn recovered(encoded: &[u8]) -> String {
    use alloy_consensus::{BlobTransactionSidecarEip7594, EthereumTxEnvelope, TxEip4844Variant};
    use alloy_eips::eip2718::Decodable2718;

    type Envelope = EthereumTxEnvelope<TxEip4844Variant<BlobTransactionSidecarEip7594>>;
    let mut rest = encoded;
    let envelope = Envelope::decode_2718(&mut rest).unwrap();
    assert!(rest.is_empty());
    let digest = envelope.signature_hash();
    let signature = envelope.signature().as_bytes();
    let parsed = parse_signature(&signature).unwrap();
    let point = ethereum()
        .curve
        .recover_ecdsa(&Message::from_digest(digest.0), &parsed)
        .unwrap();
    Ethereum::address_of(&point.serialize()).unwrap()
}

#[test]
fn every_type_decodes_and_recovers_to_the_wallet() {
    for (number, value) in every_type().into_iter().enumerate() {
        let fields = transaction(value).unwrap();
        let encoded = hex::decode(fields["signed_transaction"].as_str().unwrap()).unwrap();
        assert_eq!(recovered(&encoded), ABANDON_ADDRESS, "type {number}");
    }
}
