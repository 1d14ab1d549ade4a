//! What stellar-sdk 16.1.1 (PyPI) and @stellar/stellar-sdk 15.1.0 (npm) signed, byte by byte. The files and the scripts
//! that wrote them lie in `vectors`.

use super::*;
use stellar_strkey::ed25519::PrivateKey as Secret;

fn made() -> [Value; 2] {
    [
        include_str!("../vectors/stellar_sdk.json"),
        include_str!("../vectors/js_sdk.json"),
    ]
    .map(|file| serde_json::from_str(file).unwrap())
}

/// All cases of one kind, of both libraries.
pub(super) fn cases(kind: &str) -> Vec<Value> {
    let made = made();
    let all = made.iter().flat_map(|file| file[kind].as_array().unwrap());
    all.cloned().collect()
}

/// The first case of an environment.
pub(super) fn first(kind: &str, environment: &str) -> Value {
    let mut cases = cases(kind).into_iter();
    cases
        .find(|case| case["environment"] == environment)
        .unwrap()
}

pub(super) fn environment(case: &Value) -> Environment {
    match string(case, "environment") {
        "live" => Environment::Live,
        _ => Environment::Test,
    }
}

pub(super) fn string<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

/// The wallet of a case.
pub(super) fn wallet(case: &Value) -> Wallet {
    Wallet::of_seed(string(case, "seed"), environment(case))
}

#[test]
fn messages_of_both_are_signed_alike() {
    let cases = cases("messages");
    assert_eq!(cases.len(), 34);
    for case in &cases {
        let wallet = Wallet::of_seed(string(case, "seed"), Environment::Live);
        assert_eq!(wallet.address, string(case, "address"));
        let secret = Secret::from_string(string(case, "secret")).unwrap();
        assert_eq!(&secret.0, wallet.key.expose());
        let expected = json!({"signature": case["signature"], "encoding": "base64"});
        let fields = wallet.sign_message(string(case, "text"), None).unwrap();
        assert_eq!(json!(fields), expected);
    }
}

/// v0, v1, fee-bump and calls of contracts, on both networks, with signatures of others before ours (XLM-3, CH-10).
#[test]
fn transactions_of_both_are_signed_alike() {
    let cases = cases("transactions");
    assert_eq!(cases.len(), 86);
    for case in &cases {
        let wallet = wallet(case);
        let mut expected = json!({
            "signature": case["signature"],
            "signed_transaction": case["after"],
            "hash": case["hash"],
        });
        for before in ["before", "after"] {
            // What we signed already comes back as it is.
            let fields = wallet
                .sign_transaction(json!({"xdr": case[before]}))
                .unwrap();
            assert_eq!(json!(fields), expected, "{}", case["kind"]);
        }
        expected["signedXDR"] = case["after"].clone();
        for name in ["xlm_signTransaction", "signTransaction", "stellar_signXDR"] {
            let fields = wallet.rpc(name, json!({"xdr": case["before"]})).unwrap();
            assert_eq!(json!(fields), expected);
        }
    }
}

/// XLM-5.
#[test]
fn authorizations_of_both_are_signed_alike() {
    let cases = cases("auth_entries");
    assert_eq!(cases.len(), 28);
    for case in &cases {
        let params = json!({"auth_entry": case["auth_entry"]});
        let expected = json!({
            "signature": case["signature"],
            "encoding": "base64",
            "hash": case["hash"],
        });
        for name in ["xlm_signAuthEntry", "signAuthEntry"] {
            let fields = wallet(case).rpc(name, params.clone()).unwrap();
            assert_eq!(json!(fields), expected);
        }
    }
}
