//! What `xlm_transaction` and `xlm_signTransaction` refuse, and by which name.

use super::super::METHODS;
use super::references::{cases, first, string, wallet};
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use vestry_domain::invalid::Reason;

use crate::ed25519;

const FIELD: &str = "xlm_transaction.xdr";

fn of_bytes(bytes: &[u8]) -> Value {
    json!({"xdr": STANDARD.encode(bytes)})
}

#[test]
fn ch_11_an_unknown_member_is_refused_by_name() {
    let case = first("transactions", "test");
    let wallet = wallet(&case);
    for name in ["XDR", "networkPassphrase", "submit"] {
        let request = json!({"xdr": string(&case, "before"), name: "x"});
        let refused = wallet.sign_transaction(request.clone());
        assert!(
            matches!(&refused, Err(SigningRefused::Invalid(it)) if it.reason == Reason::Unknown)
        );
        assert_eq!(param(refused), format!("xlm_transaction.{name}"));
        let refused = wallet.rpc("xlm_signTransaction", request);
        assert_eq!(param(refused), format!("params.{name}"));
    }
}

#[test]
fn wrong_shapes_are_refused_with_the_path_of_the_field() {
    let case = first("transactions", "test");
    let wallet = wallet(&case);
    let good = string(&case, "before");
    let entry = first("auth_entries", "test");
    for (value, name) in [
        (json!(null), ""),
        (json!(good), ""),
        (json!([{"xdr": good}]), ""),
        (json!({}), ".xdr"),
        (json!({"xdr": null}), ".xdr"),
        (json!({"xdr": {}}), ".xdr"),
        (json!({"xdr": ""}), ".xdr"),
        (json!({"xdr": "AAAA"}), ".xdr"),
        (json!({"xdr": format!("{good}\n")}), ".xdr"),
        (
            json!({"xdr": good.trim_end_matches('=').to_owned() + "!"}),
            ".xdr",
        ),
        (json!({"xdr": entry["auth_entry"]}), ".xdr"),
    ] {
        let refused = wallet.sign_transaction(value.clone());
        assert_eq!(param(refused), format!("xlm_transaction{name}"), "{value}");
        if let Some(fields) = value.as_object() {
            for method in ["xlm_signTransaction", "stellar_signXDR"] {
                let refused = wallet.rpc(method, json!(fields));
                assert_eq!(param(refused), format!("params{name}"), "{value}");
            }
        }
    }
}

/// XLM-6.
#[test]
fn every_truncation_and_every_trailing_byte_is_refused() {
    for case in cases("transactions").iter().step_by(6) {
        let wallet = wallet(case);
        let bytes = STANDARD.decode(string(case, "before")).unwrap();
        for length in 0..bytes.len() {
            let refused = wallet.sign_transaction(of_bytes(&bytes[..length]));
            assert_eq!(param(refused), FIELD, "{length}");
        }
        for more in [&[0][..], &[0; 4], &[1; 72]] {
            let refused = wallet.sign_transaction(of_bytes(&[&bytes, more].concat()));
            assert_eq!(param(refused), FIELD);
        }
    }
}

/// Whatever a changed byte makes of an envelope is refused, or is another envelope, and then it is that one that is
/// signed: what was sent, one more signature counted, and the signature behind it.
#[test]
fn every_changed_byte_is_refused_or_signed_as_what_it_is() {
    let mut taken = 0;
    for case in cases("transactions").iter().step_by(9) {
        let wallet = wallet(case);
        let bytes = STANDARD.decode(string(case, "before")).unwrap();
        for place in 0..bytes.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut sent = bytes.clone();
                sent[place] ^= change;
                let fields = match wallet.sign_transaction(of_bytes(&sent)) {
                    Ok(fields) => fields,
                    refused => {
                        assert_eq!(param(refused), FIELD);
                        continue;
                    }
                };
                taken += 1;
                let signed = STANDARD
                    .decode(text(&fields, "signed_transaction"))
                    .unwrap();
                let signature = STANDARD.decode(text(&fields, "signature")).unwrap();
                let hash = hex::decode(text(&fields, "hash")).unwrap();
                assert_eq!(
                    ed25519::verify(&wallet.public_key, &hash, &signature),
                    Ok(())
                );
                assert_eq!(signed.len(), sent.len() + 72);
                assert!(signed.ends_with(&signature));
                let differ = sent.iter().zip(&signed).filter(|(one, other)| one != other);
                assert_eq!(differ.count(), 1, "the count of signatures");
            }
        }
    }
    assert!(taken > 1000, "{taken}");
}

/// XDR pads to four bytes with zeros (RFC 4506 section 3).
#[test]
fn padding_that_is_not_zero_is_refused() {
    let mut found = 0;
    for case in cases("transactions") {
        let bytes = STANDARD.decode(string(&case, "before")).unwrap();
        // `example.com` is eleven bytes.
        let name = b"example.com\0";
        for at in bytes
            .windows(name.len())
            .enumerate()
            .filter(|(_, part)| part == name)
            .map(|(at, _)| at)
        {
            found += 1;
            let mut altered = bytes.clone();
            altered[at + 11] = 1;
            assert_eq!(
                param(wallet(&case).sign_transaction(of_bytes(&altered))),
                FIELD
            );
        }
    }
    assert!(found > 0);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        "[A-Za-z0-9+/]{0,120}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 16, 5, |inner| {
        let name = prop_oneof![
            Just("xdr"),
            Just("network_passphrase"),
            Just("message"),
            Just("auth_entry"),
            Just("encoding"),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..4).prop_map(|pairs| pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_makes_the_chain_panic(value in any_json(), which in 0..METHODS.len()) {
        let wallet = Wallet::abandon();
        if let Some(fields) = value.as_object() {
            let _answer = wallet.rpc(METHODS[which], json!(fields));
        }
        let _answer = wallet.sign_transaction(value);
    }

    #[test]
    fn no_bytes_make_the_chain_panic(
        kind in prop_oneof![Just(0_u8), Just(2), Just(5), Just(9), Just(10)],
        bytes in proptest::collection::vec(prop_oneof![4 => Just(0), 1 => 0..20_u8, 1 => any::<u8>()], 0..600),
    ) {
        let wallet = Wallet::abandon();
        let in_base64 = STANDARD.encode([&[0, 0, 0, kind], &bytes[..]].concat());
        let _answer = wallet.sign_transaction(json!({"xdr": in_base64}));
        let _answer = wallet.rpc("xlm_signAuthEntry", json!({"auth_entry": in_base64}));
    }
}
