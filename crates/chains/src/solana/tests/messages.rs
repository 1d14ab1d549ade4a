use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use vestry_domain::wallet::MAX_MESSAGE;

use crate::ed25519;

/// `hello`, signed by solders (SOL-1).
const HELLO: &str =
    "3gzUSq1mJvM4t4XgdLeHrWAk7viCCCNVHQ4L23mp2e4CLyVEdhhCmZAU6oyiSbkq1Goock1xkdKQDKF2dtijXapD";

fn answer(signature: &str, encoding: &str) -> Fields {
    let fields = json!({"signature": signature, "encoding": encoding});
    fields.as_object().unwrap().clone()
}

#[test]
fn hello_is_signed_as_solders_signs_it() {
    let wallet = Wallet::of_seed(ABANDON);
    let expected = Ok(answer(HELLO, "base58"));
    assert_eq!(wallet.sign_message("hello", None), expected);
    for name in ["sol_signMessage", "signMessage"] {
        assert_eq!(wallet.rpc(name, json!({"message": "hello"})), expected);
    }
}

/// `sign_message`: every form of the message; the answer in base64 when the message is, else in base58.
#[test]
fn sign_message_reads_four_encodings() {
    let wallet = Wallet::of_seed(ABANDON);
    let in_base64 = STANDARD.encode(bs58::decode(HELLO).into_vec().unwrap());
    for (message, encoding, signature, named) in [
        ("hello", "utf-8", HELLO, "base58"),
        ("68656c6c6f", "hex", HELLO, "base58"),
        ("0x68656c6c6f", "hex", HELLO, "base58"),
        ("Cn8eVZg", "base58", HELLO, "base58"),
        ("aGVsbG8=", "base64", &in_base64, "base64"),
    ] {
        assert_eq!(
            wallet.sign_message(message, Some(encoding)),
            Ok(answer(signature, named)),
            "{encoding}"
        );
    }
}

/// SOL-3: without `encoding` text in and base58 out; with it, the same one out, base64 or base58.
#[test]
fn the_method_answers_in_the_encoding_that_it_is_given() {
    let wallet = Wallet::of_seed(ABANDON);
    let in_base64 = STANDARD.encode(bs58::decode(HELLO).into_vec().unwrap());
    for (params, signature, named) in [
        (json!({"message": "hello"}), HELLO, "base58"),
        (
            json!({"message": "hello", "encoding": null}),
            HELLO,
            "base58",
        ),
        (
            json!({"message": "hello", "encoding": "utf-8"}),
            HELLO,
            "base58",
        ),
        (
            json!({"message": "Cn8eVZg", "encoding": "base58"}),
            HELLO,
            "base58",
        ),
        (
            json!({"message": "aGVsbG8=", "encoding": "base64", "x": 1}),
            &in_base64,
            "base64",
        ),
    ] {
        assert_eq!(
            wallet.rpc("sol_signMessage", params.clone()),
            Ok(answer(signature, named)),
            "{params}"
        );
    }
    for encoding in ["hex", "utf8", "UTF-8", "base-58", "Base64", ""] {
        let params = json!({"message": "6865", "encoding": encoding});
        assert_eq!(
            param(wallet.rpc("sol_signMessage", params)),
            "params.encoding",
            "{encoding}"
        );
    }
}

#[test]
fn what_is_no_message_is_refused_with_its_path() {
    let wallet = Wallet::of_seed(ABANDON);
    for (params, expected) in [
        (json!({}), "params.message"),
        (json!({"message": null}), "params.message"),
        (json!({"message": 5}), "params.message"),
        (json!({"message": ["a"]}), "params.message"),
        (json!({"message": "a", "encoding": 5}), "params.encoding"),
        (
            json!({"message": "0OIl", "encoding": "base58"}),
            "params.message",
        ),
        (
            json!({"message": "YQ", "encoding": "base64"}),
            "params.message",
        ),
        (
            json!({"message": "a".repeat(MAX_MESSAGE + 1)}),
            "params.message",
        ),
    ] {
        let refused = wallet.rpc("sol_signMessage", params);
        assert_eq!(param(refused), expected);
    }
    assert_eq!(param(wallet.sign_message("6", Some("hex"))), "message");
    assert_eq!(param(wallet.sign_message("6", Some("octal"))), "encoding");
    let with_format = SigningRequest::Message(MessageRequest {
        format: Some("bip322".to_owned()),
        ..MessageRequest::default()
    });
    assert_eq!(param(wallet.sign(&with_format)), "format");
}

#[test]
fn the_empty_message_and_the_longest_are_signed() {
    let wallet = Wallet::of_seed(ABANDON);
    for message in [String::new(), "a".repeat(MAX_MESSAGE)] {
        let fields = wallet.sign_message(&message, None).unwrap();
        let signature = bs58::decode(text(&fields, "signature")).into_vec().unwrap();
        let verified = ed25519::verify(&wallet.public_key, message.as_bytes(), &signature);
        assert_eq!(verified, Ok(()));
    }
}

#[test]
fn methods_of_others_are_refused_with_the_list_of_ours() {
    let wallet = Wallet::of_seed(ABANDON);
    for name in ["personal_sign", "sol_signmessage", "", "xlm_signMessage"] {
        let Err(SigningRefused::UnsupportedMethod { supported }) = wallet.rpc(name, json!({}))
        else {
            panic!("{name}");
        };
        // Every name of the list is one that is understood: what it lacks is parameters.
        for name in supported {
            assert!(param(wallet.rpc(name, json!({}))).starts_with("params."));
        }
    }
}
