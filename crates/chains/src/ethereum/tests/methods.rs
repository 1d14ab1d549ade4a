//! The methods of `rpc`.

use alloy_eips::eip7702::Authorization;
use alloy_primitives::{U256, eip191_hash_message, keccak256};
use serde_json::{Value, json};
use vestry_domain::signing::{MessageRequest, SigningRefused};

use super::samples::example;
use super::support::{ABANDON_ADDRESS, param, rpc, transaction};
use super::*;

/// `sign_message "hello"` by eth-account (ETH-2).
const HELLO: &str = "0x22f6b9cd7ff4f321e11181c4fe64adeea9469908fb514fbb6001fe022002dfda1f4ec9ea436bad14a7823806487d3aeb39b22e2556590922d6a8308971a17e991c";

const CONTRACT: &str = "0x1234567890abcdef1234567890abcdef12345678";

#[test]
fn personal_messages_are_signed_under_each_name_as_sign_message_signs_them() {
    let expected = json!({ "signature": HELLO, "encoding": "hex" });
    for name in ["personal_sign", "eth_personalSign", "signMessage"] {
        for params in [
            json!({ "message": "hello" }),
            json!({ "message": "hello", "encoding": null }),
            json!({ "message": "hello", "encoding": "utf-8" }),
            json!({ "message": "0x68656c6c6f", "encoding": "hex" }),
        ] {
            assert_eq!(
                Value::Object(rpc(name, params).unwrap()),
                expected,
                "{name}"
            );
        }
    }
    // What looks like hex is text unless it is said to be hex.
    let text = rpc("personal_sign", json!({ "message": "0x68656c6c6f" })).unwrap();
    assert_ne!(text["signature"], HELLO);
}

#[test]
fn a_personal_message_that_is_not_understood_is_refused() {
    for (params, path) in [
        (json!({}), "params.message"),
        (json!({ "message": null }), "params.message"),
        (json!({ "message": 5 }), "params.message"),
        (
            json!({ "message": "hello", "encoding": "base64" }),
            "params.encoding",
        ),
        (
            json!({ "message": "hello", "encoding": "base58" }),
            "params.encoding",
        ),
        (
            json!({ "message": "hello", "encoding": 1 }),
            "params.encoding",
        ),
        (
            json!({ "message": "0x6", "encoding": "hex" }),
            "params.message",
        ),
    ] {
        assert_eq!(
            param(rpc("personal_sign", params.clone())),
            path,
            "{params}"
        );
    }
}

/// ETH-8, ETH-10, CH-6.
#[test]
fn methods_that_there_are_not_are_refused_with_the_reason_or_the_names_of_those_that_there_are() {
    for name in ["eth_sendTransaction", "eth_sign"] {
        assert_eq!(param(rpc(name, json!({}))), "method");
    }
    let hash = format!("0x{}", "11".repeat(32));
    let denied = rpc("secp256k1_sign", json!({ "hash": hash }));
    assert!(matches!(denied, Err(SigningRefused::Denied(_))));
    for name in [
        "",
        "sol_signMessage",
        "PERSONAL_SIGN",
        "eth_signTypedData",
        "eth_signTypedData_v3",
    ] {
        let Err(SigningRefused::UnsupportedMethod { supported }) = rpc(name, json!({})) else {
            panic!("{name}");
        };
        assert!(supported.contains(&"personal_sign"));
        for known in supported {
            let refused = rpc(known, json!({}));
            assert!(
                matches!(refused, Err(SigningRefused::Invalid(_))),
                "{known}"
            );
        }
    }
}

/// Over the digest of a text a signature is one over the text, and whoever signs a bare hash does not see which. So no hash is
/// signed, and with that none of a challenge of ours.
#[test]
fn m_10_the_digest_of_a_challenge_is_not_signed_as_a_bare_hash() {
    let challenge = format!(
        "id.example.com wants you to sign in with your Ethereum account:\n{ABANDON_ADDRESS}\n\nSign in to Demo.\n\n\
         URI: https://id.example.com\nVersion: 1\nChain ID: 1\nNonce: 32891756000\nIssued At: 2021-09-30T16:25:24Z"
    );
    let framed = rpc("personal_sign", json!({ "message": challenge }));
    framed.unwrap();
    let digest = eip191_hash_message(&challenge);
    for hash in [digest, keccak256(&challenge), digest ^ keccak256("another")] {
        for params in [json!({ "hash": hash }), json!({})] {
            let refused = rpc("secp256k1_sign", params);
            let Err(SigningRefused::Denied(why)) = refused else {
                panic!("{hash} was not refused");
            };
            assert!(why.contains("personal_sign"), "{why}");
        }
    }
}

/// ETH-8: eth-account 0.14.0.
#[test]
fn an_authorization_is_signed_as_eth_account_signs_it() {
    let unsigned = Authorization {
        chain_id: U256::from(1),
        address: CONTRACT.parse().unwrap(),
        nonce: 0,
    };
    assert_eq!(
        unsigned.signature_hash().to_string(),
        "0x5a5e37c4971dd97c6ccdde849f05eb09a986c65482671ea26a30f2f0e9ef2875"
    );
    let params = json!({ "contractAddress": CONTRACT, "chainId": "0x1", "nonce": "0x0" });
    let fields = rpc("eth_sign7702Authorization", params).unwrap();
    assert_eq!(fields.len(), 1);
    let signed = &fields["authorization"];
    let text = |name: &str| signed[name].as_str().unwrap();
    assert!(text("r").starts_with("0x807023c6"));
    assert!(text("s").ends_with("681ea4"));
    assert_eq!(text("yParity"), "0x0");
    assert_eq!(text("chainId"), "0x1");
    assert_eq!(text("nonce"), "0x0");
    assert_eq!(text("address").to_lowercase(), CONTRACT);

    // The response is in the form that a transaction accepts. The transaction itself uses nonce 0 of the wallet.
    let by_nonce = |nonce: &str| {
        let params = json!({ "contractAddress": CONTRACT, "chainId": "0x1", "nonce": nonce });
        rpc("eth_sign7702Authorization", params).unwrap()["authorization"].clone()
    };
    let set_code = json!({
        "to": CONTRACT, "chainId": "0x1", "nonce": "0x0", "gas": "0x1", "maxFeePerGas": "0x1",
        "maxPriorityFeePerGas": "0x1", "authorizationList": [by_nonce("0x1")],
    });
    transaction(set_code).unwrap();
}

/// ETH-9.
#[test]
fn an_authorization_names_one_chain_and_one_contract() {
    let method = "eth_sign7702Authorization";
    let good = json!({ "contract": CONTRACT, "chainId": "0x1", "nonce": "0x0" });
    let signed = rpc(method, good.clone()).unwrap();
    let mut both = good.clone();
    both["contractAddress"] = json!(CONTRACT);
    assert_eq!(rpc(method, both).unwrap(), signed);

    let denied = |id: &str| {
        let mut params = good.clone();
        params["chainId"] = json!(id);
        matches!(rpc(method, params), Err(SigningRefused::Denied(_)))
    };
    assert!(denied("0x0") && denied("0x00") && !denied("0x2"));

    for (name, value, path) in [
        ("contract", json!(null), "contractAddress"),
        ("contract", json!("0x12"), "contract"),
        (
            "contractAddress",
            json!("0x0000000000000000000000000000000000000001"),
            "contract",
        ),
        ("chainId", json!(null), "chainId"),
        ("chainId", json!(1), "chainId"),
        ("chainId", json!("1"), "chainId"),
        ("chainId", json!("0x10000000000000000"), "chainId"),
        ("nonce", json!(null), "nonce"),
        ("nonce", json!(0), "nonce"),
        ("nonce", json!("0xffffffffffffffff"), "nonce"),
    ] {
        let mut params = good.clone();
        params[name] = value.clone();
        assert_eq!(
            param(rpc(method, params)),
            format!("params.{path}"),
            "{name} {value}"
        );
    }
}

/// A prepared request is for one wallet, whichever key is put in.
#[test]
fn a_key_of_another_wallet_signs_nothing() {
    let chain = ethereum();
    let public_key = chain.public_key(&key(ABANDON)).unwrap();
    let signer = Signer {
        public_key: &public_key,
        address: ABANDON_ADDRESS,
        environment: Environment::Test,
    };
    let method = |name: &str, params: Value| SigningRequest::Method {
        name: name.to_owned(),
        params: params.as_object().unwrap().clone(),
    };
    let authorization = json!({ "contract": CONTRACT, "chainId": "0x1", "nonce": "0x0" });
    let typed = json!({ "types": { "T": [] }, "primaryType": "T", "domain": {}, "message": {} });
    let hello = MessageRequest {
        message: "hello".to_owned(),
        ..MessageRequest::default()
    };
    let mut nothing = |_bytes: &mut [u8]| {};
    for request in [
        SigningRequest::Message(hello),
        SigningRequest::Transaction(example()),
        method("personal_sign", json!({ "message": "hello" })),
        method("eth_signTransaction", json!({ "transaction": example() })),
        method("eth_sign7702Authorization", authorization),
        method("eth_signTypedData_v4", json!({ "typed_data": typed })),
    ] {
        let prepared = chain.prepare(&request, signer).unwrap();
        let strangers = prepared.sign(&small(7), &mut nothing);
        assert_eq!(strangers, Err(ChainError::Signature));
        assert!(prepared.sign(&key(ABANDON), &mut nothing).is_ok());
    }
}
