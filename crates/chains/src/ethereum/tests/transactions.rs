//! Transactions that are signed.

use alloy_consensus::TxEip1559;
use alloy_consensus::transaction::RlpEcdsaDecodableTx;
use serde_json::{Value, json};
use vestry_domain::invalid::Reason;

use super::samples::{
    EXAMPLE_SIGNED, authorization, every_type, example, recovered, refused, with, without,
};
use super::support::{ABANDON_ADDRESS, reason_and_param, rpc, transaction};
use super::*;

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

/// ETH-3.
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
fn eth_5_without_a_recipient_a_contract_is_created_by_types_0_to_2_only() {
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
    let creation = with(example(), json!({ "to": null, "data": "0xfe" }));
    let created = transaction(creation).unwrap();
    let encoded = hex::decode(created["signed_transaction"].as_str().unwrap()).unwrap();
    let decoded = TxEip1559::eip2718_decode(&mut encoded.as_slice()).unwrap();
    assert!(decoded.tx().to.is_create());
}

/// A misspelt recipient would otherwise be a contract creation that takes the value.
#[test]
fn eth_5_a_transaction_without_a_recipient_and_without_data_is_refused() {
    for value in every_type() {
        let value = without(value, "data");
        for changes in [
            json!({ "to": null }),
            json!({ "to": null, "data": null }),
            json!({ "to": null, "data": "0x" }),
            json!({ "to": null, "input": "0x" }),
            json!({ "to": null, "data": "0x", "input": "0x" }),
        ] {
            for value in [
                with(value.clone(), changes.clone()),
                with(without(value.clone(), "to"), changes),
            ] {
                assert_eq!(
                    reason_and_param(transaction(value)),
                    (Reason::Missing, "eth_transaction.to".into())
                );
            }
        }
    }
    let method = json!({ "transaction": without(example(), "to") });
    let refused = reason_and_param(rpc("eth_signTransaction", method));
    assert_eq!(refused, (Reason::Missing, "params.transaction.to".into()));
    // Empty data to a recipient is a transfer, and data without one a creation.
    transaction(with(example(), json!({ "data": "0x" }))).unwrap();
    transaction(with(example(), json!({ "to": null, "input": "0x00" }))).unwrap();
}

#[test]
fn ch_11_the_members_of_json_rpc_are_known_and_all_others_are_refused_by_name() {
    let known = json!({ "from": ABANDON_ADDRESS, "type": "0x2", "input": "0x", "gasLimit": "0x5208", "accessList": [] });
    transaction(with(example(), known)).unwrap();
    for name in [
        "To",
        "TO",
        "recipient",
        "to ",
        "gas_limit",
        "Value",
        "chain_id",
        "comment",
        "r",
        "hash",
        "",
        "tö",
    ] {
        let misspelt = with(without(example(), "to"), json!({ name: example()["to"] }));
        for value in [misspelt, with(example(), json!({ name: {} }))] {
            let refused = reason_and_param(transaction(value.clone()));
            assert_eq!(
                refused,
                (Reason::Unknown, format!("eth_transaction.{name}"))
            );
            let refused =
                reason_and_param(rpc("eth_signTransaction", json!({ "transaction": value })));
            assert_eq!(
                refused,
                (Reason::Unknown, format!("params.transaction.{name}"))
            );
        }
    }
    let [_, with_access, _, blob, set_code] = every_type();
    let entry = json!({ "address": example()["to"], "storageKeys": [], "keys": [] });
    let signed = with(authorization(), json!({ "v": "0x1" }));
    for (value, path) in [
        (
            with(with_access, json!({ "accessList": [entry] })),
            "accessList[0].keys",
        ),
        (
            with(set_code, json!({ "authorizationList": [signed] })),
            "authorizationList[0].v",
        ),
        (
            with(blob, json!({ "sidecar": { "blob": [] } })),
            "sidecar.blob",
        ),
    ] {
        let refused = reason_and_param(transaction(value));
        assert_eq!(
            refused,
            (Reason::Unknown, format!("eth_transaction.{path}"))
        );
    }
    // As everywhere, null is absent.
    transaction(with(example(), json!({ "sig": null }))).unwrap();
    // A name without end is not repeated.
    let endless = transaction(with(example(), json!({ "n".repeat(100_000): 1 })));
    assert!(reason_and_param(endless).1.len() <= 200);
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

#[test]
fn every_type_decodes_and_recovers_to_the_wallet() {
    for (number, value) in every_type().into_iter().enumerate() {
        let fields = transaction(value).unwrap();
        let encoded = hex::decode(fields["signed_transaction"].as_str().unwrap()).unwrap();
        assert_eq!(recovered(&encoded), ABANDON_ADDRESS, "type {number}");
    }
}
