//! The bytes signed for a message, and the forms of the request.

use super::*;

/// DOT-2.
#[test]
fn messages_are_wrapped_unless_they_are_already() {
    let wallet = Wallet::new(ABANDON);
    for (text, encoding, signed) in [
        ("hello", None, &b"<Bytes>hello</Bytes>"[..]),
        ("", None, b"<Bytes></Bytes>"),
        ("0x6869", None, b"<Bytes>0x6869</Bytes>"),
        ("0x6869", Some("hex"), b"<Bytes>hi</Bytes>"),
        ("<Bytes>hello</Bytes>", None, b"<Bytes>hello</Bytes>"),
        ("<Bytes></Bytes>", None, b"<Bytes></Bytes>"),
        ("<Bytes>", None, b"<Bytes><Bytes></Bytes>"),
        ("<Bytes/Bytes>", None, b"<Bytes><Bytes/Bytes></Bytes>"),
        (
            "\u{19}Ethereum Signed Message:\n5hello",
            None,
            b"\x19Ethereum Signed Message:\n5hello",
        ),
    ] {
        let fields = wallet.signed(&message(text, encoding));
        let signature = hex_of(&fields["signature"]);
        assert_eq!(signature.len(), 64);
        assert!(wallet.verifies(signed, &signature), "{text}");
        assert_eq!(fields["encoding"], "hex");
        assert_eq!(fields.len(), 2);
    }
}

/// Payloads are hashed from 257 bytes on, messages never.
#[test]
fn long_messages_are_signed_as_they_are() {
    let wallet = Wallet::new(ABANDON);
    let text = "x".repeat(60_000);
    let fields = wallet.signed(&message(&text, None));
    let wrapped = format!("<Bytes>{text}</Bytes>");
    assert!(wallet.verifies(wrapped.as_bytes(), &hex_of(&fields["signature"])));
}

#[test]
fn every_name_of_the_method_signs_the_same_message() {
    let wallet = Wallet::new(ABANDON);
    let substrate = "5Fk1JpdNfEwrLJXxcpVrYhY7ddqPaPPvPTN3RjqMxSGKRTZY";
    assert_eq!(address::decode(substrate), None, "a wrong checksum");
    for (name, params) in [
        ("polkadot_signMessage", json!({"message": "hello"})),
        (
            "polkadot_signMessage",
            json!({"message": "hello", "address": ADDRESS}),
        ),
        (
            "dot_signRaw",
            json!({"message": "0x68656c6c6f", "encoding": "hex"}),
        ),
        (
            "signMessage",
            json!({"message": "hello", "address": null, "encoding": null, "other": 1}),
        ),
    ] {
        let fields = wallet.signed(&method(name, params));
        assert!(wallet.verifies(b"<Bytes>hello</Bytes>", &hex_of(&fields["signature"])));
        assert_eq!(fields["encoding"], "hex");
    }
}
