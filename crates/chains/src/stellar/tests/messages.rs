use super::*;
use vestry_domain::wallet::MAX_MESSAGE;

fn answer(signature: &str, encoding: &str) -> Fields {
    let fields = json!({"signature": signature, "encoding": encoding});
    fields.as_object().unwrap().clone()
}

/// XLM-2: stellar-sdk 16.1.1.
#[test]
fn hello_is_signed_as_stellar_sdk_signs_it() {
    let signature =
        "x9MDGAWWCmPg9ovjV5Shh4tWDloZFxsI/+fqz+vXVEBnW7KNyzAambGx4EmUAdYfAgxpWVBGvuKwn5LEmoG7DA==";
    let wallet = Wallet::abandon();
    let expected = Ok(answer(signature, "base64"));
    assert_eq!(wallet.sign_message("hello", None), expected);
    let params = json!({"message": "hello"});
    for name in ["xlm_signMessage", "signMessage"] {
        assert_eq!(wallet.rpc(name, params.clone()), expected);
    }
}

/// SEP-53, "Test cases", in both encodings; the third message is bytes.
#[test]
fn the_test_cases_of_sep_53_are_signed() {
    let seed = "148112b05e2c693932e5adf3e53601f3521032eebeb3abb5e316902f0a40a024";
    let wallet = Wallet::of_seed(seed, Environment::Live);
    assert_eq!(
        wallet.address,
        "GBXFXNDLV4LSWA4VB7YIL5GBD7BVNR22SGBTDKMO2SBZZHDXSKZYCP7L"
    );
    for (message, encoding, in_base64, in_hex) in [
        (
            "Hello, World!",
            None,
            "fO5dbYhXUhBMhe6kId/cuVq/AfEnHRHEvsP8vXh03M1uLpi5e46yO2Q8rEBzu3feXQewcQE5GArp88u6ePK6BA==",
            "7cee5d6d885752104c85eea421dfdcb95abf01f1271d11c4bec3fcbd7874dccd6e2e98b97b8eb23b643cac4073bb77de5d07b0710139180ae9f3cbba78f2ba04",
        ),
        (
            "こんにちは、世界！",
            Some("utf-8"),
            "CDU265Xs8y3OWbB/56H9jPgUss5G9A0qFuTqH2zs2YDgTm+++dIfmAEceFqB7bhfN3am59lCtDXrCtwH2k1GBA==",
            "083536eb95ecf32dce59b07fe7a1fd8cf814b2ce46f40d2a16e4ea1f6cecd980e04e6fbef9d21f98011c785a81edb85f3776a6e7d942b435eb0adc07da4d4604",
        ),
        (
            "2zZDP1sa1BVBfLP7TeeMk3sUbaxAkUhBhDiNdrksaFo=",
            Some("base64"),
            "VA1+7hefNwv2NKScH6n+Sljj15kLAge+M2wE7fzFOf+L0MMbssA1mwfJZRyyrhBORQRle10X1Dxpx+UOI4EbDQ==",
            "540d7eee179f370bf634a49c1fa9fe4a58e3d7990b0207be336c04edfcc539ff8bd0c31bb2c0359b07c9651cb2ae104e4504657b5d17d43c69c7e50e23811b0d",
        ),
    ] {
        assert_eq!(
            wallet.sign_message(message, encoding),
            Ok(answer(in_base64, "base64"))
        );
        let bytes = match encoding {
            Some("base64") => hex::encode(
                base64::Engine::decode(&base64::engine::general_purpose::STANDARD, message)
                    .unwrap(),
            ),
            _ => hex::encode(message),
        };
        for prefix in ["", "0x"] {
            let message = format!("{prefix}{bytes}");
            let expected = Ok(answer(in_hex, "hex"));
            assert_eq!(wallet.sign_message(&message, Some("hex")), expected);
            let params = json!({"message": message, "encoding": "hex"});
            assert_eq!(wallet.rpc("xlm_signMessage", params), expected);
        }
    }
}

#[test]
fn base58_names_bytes_too() {
    let wallet = Wallet::abandon();
    assert_eq!(
        wallet.sign_message("Cn8eVZg", Some("base58")),
        wallet.sign_message("hello", None)
    );
}

#[test]
fn what_is_no_message_is_refused_with_its_path() {
    let wallet = Wallet::abandon();
    for (params, expected) in [
        (json!({}), "params.message"),
        (json!({"message": null}), "params.message"),
        (json!({"message": {}}), "params.message"),
        (json!({"message": "a", "encoding": true}), "params.encoding"),
        (
            json!({"message": "a", "encoding": "ascii"}),
            "params.encoding",
        ),
        (
            json!({"message": "zz", "encoding": "hex"}),
            "params.message",
        ),
        (
            json!({"message": "a".repeat(MAX_MESSAGE + 1)}),
            "params.message",
        ),
    ] {
        assert_eq!(param(wallet.rpc("xlm_signMessage", params)), expected);
    }
    assert_eq!(param(wallet.sign_message("zz", Some("hex"))), "message");
    assert_eq!(param(wallet.sign_message("zz", Some("ascii"))), "encoding");
    let with_format = SigningRequest::Message(MessageRequest {
        format: Some("bip322".to_owned()),
        ..MessageRequest::default()
    });
    assert_eq!(param(wallet.sign(&with_format)), "format");
}

#[test]
fn methods_of_others_are_refused_with_the_list_of_ours() {
    let wallet = Wallet::abandon();
    for name in [
        "personal_sign",
        "sol_signMessage",
        "",
        "xlm_signtransaction",
    ] {
        let Err(SigningRefused::UnsupportedMethod { supported }) = wallet.rpc(name, json!({}))
        else {
            panic!("{name}");
        };
        for name in supported {
            assert!(param(wallet.rpc(name, json!({}))).starts_with("params."));
        }
    }
}
