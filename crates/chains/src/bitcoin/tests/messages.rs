//! BIP-322, BIP-137, and rejected messages.

use ::bitcoin::consensus::encode;
use ::bitcoin::hashes::Hash;
use ::bitcoin::secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use ::bitcoin::secp256k1::{Message, Secp256k1};
use ::bitcoin::sighash::{EcdsaSighashType, SighashCache};
use ::bitcoin::{Address, Amount, Network, Witness, ecdsa, sign_message};
use alloy_primitives::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::json;
use vestry_domain::Environment;
use vestry_domain::signing::{MessageRequest, SigningRefused, SigningRequest};

use super::super::{bip322, signed_message};
use super::support::{Failed, address, chain, message, method, sign, sign_with, small, text, wif};
use crate::{Chain, ChainError};

/// The key of the vectors of BIP-322, `bip-0322/basic-test-vectors.json`.
const BASIC: &str = "L3VFeEujGtevx9w18HD1fhRbCH67Az2dpCymeRE1SoPK6XQtaN2k";
const BASIC_ADDRESS: &str = "bc1q9vza2e8x573nczrlzms0wvx3gsqjx7vavgkx0l";

/// BIP-322, `bip-0322/basic-test-vectors.json`, "tx_hashes".
#[test]
fn messages_make_the_transactions_of_bip_322() {
    let script = Address::from_str_checked(BASIC_ADDRESS).script_pubkey();
    for (message, message_hash, to_spend_hash, to_sign_hash) in [
        (
            "",
            "c90c269c4f8fcbe6880f72a721ddfbf1914268a794cbb21cfafee13770ae19f1",
            "c5680aa69bb8d860bf82d4e9cd3504b55dde018de765a91bb566283c545a99a7",
            "1e9654e951a5ba44c8604c4de6c67fd78a27e81dcadcfe1edf638ba3aaebaed6",
        ),
        (
            "Hello World",
            "f0eb03b1a75ac6d9847f55c624a99169b5dccba2a31f5b23bea77ba270de0a7a",
            "b79d196740ad5217771c1098fc4a4b51e0535c32236c71f1ea4d61a2d603352b",
            "88737ae86f2077145f93cc4b153ae9a1cb8d56afa511988c149c5c8c9d93bddf",
        ),
        (
            "UTF-8 support: öäüéàè 测试文本 \u{1f604}",
            "43936b237ea38c7794eb5d755e0d220b6db92ebfc5c8f482759d22b1286376d7",
            "c8f4f525fe8afb1bc09b44175bd2096f079c98425e8a1be676b712add1fb62f0",
            "8f488e06b89eafd019ec528109eafaf7f1d1811fd617aa1eeb9658f1c1be6586",
        ),
    ] {
        assert_eq!(
            hex::encode(bip322::message_hash(message.as_bytes())),
            message_hash
        );
        let to_spend = bip322::to_spend(&script, message.as_bytes());
        assert_eq!(to_spend.compute_txid().to_string(), to_spend_hash);
        let to_sign = bip322::to_sign(&to_spend);
        assert_eq!(to_sign.compute_txid().to_string(), to_sign_hash);
    }
}

trait FromStrChecked {
    fn from_str_checked(text: &str) -> Address;
}

impl FromStrChecked for Address {
    fn from_str_checked(text: &str) -> Address {
        let unchecked: Address<_> = text.parse().unwrap();
        unchecked.require_network(Network::Bitcoin).unwrap()
    }
}

/// BIP-322, "simple" of P2WPKH: the second of the two signatures that `basic-test-vectors.json` gives for a message, and
/// those of `generated-test-vectors.json`, before version 2.0.0 and of it. The first is that of signers which draw nonces
/// until `r` is short (BTC-2).
#[test]
fn messages_are_signed_as_in_the_vectors_of_bip_322() {
    for (key, address_of, message_text, expected) in [
        (
            BASIC,
            BASIC_ADDRESS,
            "",
            "AkgwRQIhAPkJ1Q4oYS0htvyuSFHLxRQpFAY56b70UvE7Dxazen0ZAiAtZfFz1S6T6I23MWI2lK/pcNTWncuyL8UL+oMdydVgzAEhAsfxIAMZZEKUPYWI4BruhAQjzFT8FSFSajuFwrDL1Yhy",
        ),
        (
            BASIC,
            BASIC_ADDRESS,
            "Hello World",
            "AkgwRQIhAOzyynlqt93lOKJr+wmmxIens//zPzl9tqIOua93wO6MAiBi5n5EyAcPScOjf1lAqIUIQtr3zKNeavYabHyR8eGhowEhAsfxIAMZZEKUPYWI4BruhAQjzFT8FSFSajuFwrDL1Yhy",
        ),
        (
            "L1W6mc2yYRcDCkhwhFASvvacvp6Pm4u29dxK9RJHVorXqLciTdq4",
            "bc1qkntwc3c4dzxh9xh6875l03fn3vkk023jgak3u7",
            "ESHJI7MWUL64AXHBI42L3UR4QA",
            "AkcwRAIgCYHF/vn67iZX5WBimh84kqD6pTME6eNCMGhfFnnwCNECIAF3nMCk/RfLit+uv8a8FgfQIw0f0ASE21GSz7rX17PsASEDTA2vM8bOtUFgvenSDUmvkq7aWNwoTB0CMiM6carHY1s=",
        ),
    ] {
        let key = wif(key);
        assert_eq!(address(&key, Environment::Live), address_of);
        let answer = sign(&key, &message(message_text, None)).unwrap();
        assert_eq!(
            text(&answer, "signature"),
            format!("smp{expected}"),
            "{message_text}"
        );
        assert_eq!(text(&answer, "signature_unprefixed"), expected);
        assert_eq!(text(&answer, "encoding"), "base64");
        assert_eq!(answer.len(), 3);
        for format in ["bip322", "bip322-unprefixed"] {
            let named = sign(&key, &message(message_text, Some(format))).unwrap();
            if format == "bip322" {
                assert_eq!(named, answer);
            } else {
                assert_eq!(text(&named, "signature"), expected);
                assert_eq!(text(&named, "encoding"), "base64");
                assert_eq!(named.len(), 2);
            }
        }
    }
}

/// The other signature that `basic-test-vectors.json` gives for each message is valid too: the digest is the same.
#[test]
fn the_other_signatures_of_bip_322_fit_the_digest() {
    for (message, signature) in [
        (
            "",
            "AkcwRAIgM2gBAQqvZX15ZiysmKmQpDrG83avLIT492QBzLnQIxYCIBaTpOaD20qRlEylyxFSeEA2ba9YOixpX8z46TSDtS40ASECx/EgAxlkQpQ9hYjgGu6EBCPMVPwVIVJqO4XCsMvViHI=",
        ),
        (
            "Hello World",
            "AkcwRAIgZRfIY3p7/DoVTty6YZbWS71bc5Vct9p9Fia83eRmw2QCICK/ENGfwLtptFluMGs2KsqoNSk89pO7F29zJLUx9a/sASECx/EgAxlkQpQ9hYjgGu6EBCPMVPwVIVJqO4XCsMvViHI=",
        ),
    ] {
        let public_key = chain().public_key(&wif(BASIC)).unwrap();
        assert!(verifies(&public_key, message.as_bytes(), signature));
        assert!(!verifies(
            &public_key,
            b"Wrong message that was not signed",
            signature
        ));
    }
}

/// A verifier of "simple" P2WPKH signatures (BIP-322, section "Verification Process").
fn verifies(public_key: &[u8], message: &[u8], signature: &str) -> bool {
    let witness: Witness = encode::deserialize(&STANDARD.decode(signature).unwrap()).unwrap();
    let [signature, key] = witness.iter().collect::<Vec<_>>()[..] else {
        return false;
    };
    let signature = ecdsa::Signature::from_slice(signature).unwrap();
    let key_of_witness = ::bitcoin::CompressedPublicKey::from_slice(key).unwrap();
    let script = Address::p2wpkh(&key_of_witness, Network::Bitcoin).script_pubkey();
    let to_sign = bip322::to_sign(&bip322::to_spend(&script, message));
    let digest = SighashCache::new(&to_sign)
        .p2wpkh_signature_hash(0, &script, Amount::ZERO, EcdsaSighashType::All)
        .unwrap();
    signature.sighash_type == EcdsaSighashType::All
        && key == public_key
        && Secp256k1::verification_only()
            .verify_ecdsa(
                &Message::from_digest(digest.to_byte_array()),
                &signature.signature,
                &key_of_witness.0,
            )
            .is_ok()
}

/// BIP-137, and the hash of the library that verifies it.
#[test]
fn the_older_format_hashes_as_others_do_and_recovers_to_the_key() {
    let curve = Secp256k1::new();
    for (number, text_signed) in (1_u8..=40).map(|number| (number, format!("message {number}"))) {
        let key = small(number);
        let digest = sign_message::signed_msg_hash(&text_signed);
        assert_eq!(
            signed_message::digest(text_signed.as_bytes()),
            digest.to_byte_array()
        );
        for (format, headers) in [("bip137", 39..=42_u8), ("electrum", 31..=34)] {
            let answer = sign(&key, &message(&text_signed, Some(format))).unwrap();
            assert_eq!(text(&answer, "encoding"), "base64");
            assert_eq!(answer.len(), 2);
            let signature = STANDARD.decode(text(&answer, "signature")).unwrap();
            assert_eq!(signature.len(), 65);
            assert!(headers.contains(&signature[0]));
            let recovery = RecoveryId::from_i32(i32::from(signature[0] - headers.start())).unwrap();
            let parsed = RecoverableSignature::from_compact(&signature[1..], recovery).unwrap();
            let digest = Message::from_digest(digest.to_byte_array());
            let recovered = curve.recover_ecdsa(&digest, &parsed).unwrap();
            assert_eq!(
                recovered.serialize().to_vec(),
                chain().public_key(&key).unwrap()
            );
            let mut low = parsed.to_standard();
            low.normalize_s();
            assert_eq!(low, parsed.to_standard());
        }
    }
}

#[test]
fn rpc_signs_as_sign_message_does_under_either_name() {
    let key = small(7);
    for name in ["btc_signMessage", "signMessage"] {
        for format in [
            None,
            Some("bip322"),
            Some("bip322-unprefixed"),
            Some("bip137"),
        ] {
            let by_method = sign(
                &key,
                &method(name, json!({"message": "m", "format": format})),
            );
            assert_eq!(by_method, sign(&key, &message("m", format)));
        }
        let of_bytes = sign(
            &key,
            &method(name, json!({"message": "6d", "encoding": "hex"})),
        );
        assert_eq!(of_bytes, sign(&key, &message("m", None)));
    }
}

#[test]
fn refusals_of_messages_name_their_field() {
    let long = "a".repeat(65 * 1024);
    let plain = |message: &str, encoding: Option<&str>, format: Option<&str>| {
        SigningRequest::Message(MessageRequest {
            message: message.to_owned(),
            encoding: encoding.map(str::to_owned),
            format: format.map(str::to_owned),
        })
    };
    for (request, param) in [
        (plain("m", None, Some("bip-322")), "format"),
        (plain("m", Some("utf-16"), None), "encoding"),
        (plain("6", Some("hex"), None), "message"),
        (plain(&long, None, None), "message"),
        (method("btc_signMessage", json!({})), "params.message"),
        (
            method("btc_signMessage", json!({"message": null})),
            "params.message",
        ),
        (
            method("signMessage", json!({"message": 5})),
            "params.message",
        ),
        (
            method("signMessage", json!({"message": "m", "format": 1})),
            "params.format",
        ),
        (
            method("signMessage", json!({"message": "m", "format": "ful"})),
            "params.format",
        ),
        (
            method("signMessage", json!({"message": "m", "encoding": []})),
            "params.encoding",
        ),
        (
            method("signMessage", json!({"message": "m", "encoding": "x"})),
            "params.encoding",
        ),
        (
            method("signMessage", json!({"message": "6", "encoding": "hex"})),
            "params.message",
        ),
    ] {
        assert_eq!(sign(&small(1), &request).unwrap_err().param(), param);
    }
}

#[test]
fn methods_of_other_chains_are_refused_with_the_names_of_this_one() {
    let refused = sign(&small(1), &method("personal_sign", json!({}))).unwrap_err();
    let Failed::Refused(SigningRefused::UnsupportedMethod { supported }) = refused else {
        panic!("{refused:?}");
    };
    for name in supported {
        let known = sign(&small(1), &method(name, json!({}))).unwrap_err();
        assert!(known.param().starts_with("params."), "{name}");
    }
}

#[test]
fn a_key_that_is_not_the_wallet_s_signs_nothing() {
    for format in [
        None,
        Some("bip322-unprefixed"),
        Some("bip137"),
        Some("electrum"),
    ] {
        assert_eq!(
            sign_with(&small(1), &small(2), &message("m", format)),
            Err(Failed::Chain(ChainError::Signature))
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_signed_verifies_for_this_message_only(
        number in 1_u8..,
        message in proptest::collection::vec(any::<u8>(), 0..300),
        other in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let key = small(number);
        let answer = sign(&key, &SigningRequest::Message(MessageRequest {
            message: hex::encode(&message),
            encoding: Some("hex".to_owned()),
            format: None,
        })).unwrap();
        let public_key = chain().public_key(&key).unwrap();
        let signature = text(&answer, "signature_unprefixed");
        prop_assert!(verifies(&public_key, &message, signature));
        prop_assert_eq!(verifies(&public_key, &other, signature), message == other);
    }
}
