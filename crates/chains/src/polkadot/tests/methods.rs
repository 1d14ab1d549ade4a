//! What rpc answers and refuses.

use super::refusals::{refused, with};
use super::*;

#[test]
fn parameters_of_methods_are_named() {
    let other = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5";
    for (name, param, params) in [
        ("polkadot_signMessage", "params.message", json!({})),
        (
            "polkadot_signMessage",
            "params.message",
            json!({"message": null}),
        ),
        (
            "polkadot_signMessage",
            "params.message",
            json!({"message": 5}),
        ),
        (
            "polkadot_signMessage",
            "params.message",
            json!({"message": "0", "encoding": "hex"}),
        ),
        (
            "polkadot_signMessage",
            "params.encoding",
            json!({"message": "0", "encoding": "utf-16"}),
        ),
        (
            "polkadot_signMessage",
            "params.encoding",
            json!({"message": "0", "encoding": 5}),
        ),
        (
            "dot_signRaw",
            "params.address",
            json!({"message": "0", "address": other}),
        ),
        (
            "signMessage",
            "params.address",
            json!({"message": "0", "address": "nobody"}),
        ),
        (
            "signMessage",
            "params.address",
            json!({"message": "0", "address": 5}),
        ),
        (
            "polkadot_signTransaction",
            "params.address",
            json!({"transactionPayload": payload()}),
        ),
        (
            "polkadot_signTransaction",
            "params.address",
            json!({"transactionPayload": payload(), "address": other}),
        ),
        (
            "polkadot_signTransaction",
            "params.transactionPayload",
            json!({"address": ADDRESS}),
        ),
    ] {
        assert_eq!(refused(&method(name, params)).param, param);
    }
}

#[test]
fn methods_of_other_chains_are_answered_with_those_of_this_one() {
    for name in [
        "personal_sign",
        "polkadot_signmessage",
        "",
        "signTransaction",
    ] {
        let refused = Wallet::new(ABANDON).prepare(&method(name, json!({}))).err();
        let supported = rpc::METHODS;
        assert_eq!(
            refused,
            Some(SigningRefused::UnsupportedMethod { supported })
        );
    }
    for name in rpc::METHODS {
        let refused = Wallet::new(ABANDON).prepare(&method(name, json!({}))).err();
        assert!(
            matches!(refused, Some(SigningRefused::Invalid(_))),
            "{name}"
        );
    }
}

#[test]
fn a_format_of_messages_is_refused() {
    let request = SigningRequest::Message(MessageRequest {
        format: Some("bip322".to_owned()),
        ..MessageRequest::default()
    });
    assert_eq!(refused(&request).param, "format");
}

/// polkadot.js' `SignerResult` has the transaction under a name of its own, and only for those who asked.
#[test]
fn a_signer_result_has_the_transaction_when_it_was_asked_for() {
    let wallet = Wallet::new(ABANDON);
    for (asked, named) in [
        (json!(true), true),
        (json!(false), false),
        (Value::Null, false),
    ] {
        let payload = with(json!({"withSignedTransaction": asked}));
        assert_eq!(wallet.transaction(payload.clone()).len(), 2);
        let params = json!({"address": ADDRESS, "transactionPayload": payload});
        let data = wallet.signed(&method("polkadot_signTransaction", params));
        assert_eq!(data.contains_key("signedTransaction"), named);
        if named {
            assert_eq!(data["signedTransaction"], data["signed_transaction"]);
        }
    }
}
