//! What other libraries make of the same keys and PSBTs; see `vectors/generate.js` and `vectors/generate.py`.

use std::sync::LazyLock;

use ::bitcoin::Psbt;
use ::bitcoin::secp256k1::{Message, Secp256k1, schnorr};
use ::bitcoin::sighash::{Prevouts, SighashCache, TapSighashType};
use serde_json::{Value, json};
use vestry_domain::Environment;

use super::support::{of_bytes, signed_bytes, with};
use crate::bitcoin::psbt::unsigned::Unsigned;
use crate::bitcoin::psbt::work;
use crate::bitcoin::tests::support::{address, bytes, chain, key, message, sign, text};
use crate::{Chain, PrivateKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

fn cases(file: &str, name: &str) -> Vec<Vec<Value>> {
    let file: Value = serde_json::from_str(file).unwrap();
    file[name]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case.as_array().unwrap().clone())
        .collect()
}

const EMBIT: &str = include_str!("../../vectors/embit.json");
const BITCOINJS: &str = include_str!("../../vectors/bitcoinjs.json");

/// The wallet and the unsigned PSBT of one of the cases.
pub(super) fn of_embit(which: usize) -> (PrivateKey, Vec<u8>) {
    static CASES: LazyLock<Vec<Vec<Value>>> = LazyLock::new(|| cases(EMBIT, "psbts"));
    let case = &CASES[which];
    let psbt = STANDARD.decode(case[3].as_str().unwrap()).unwrap();
    (key(case[0].as_str().unwrap()), psbt)
}

#[test]
fn addresses_are_those_of_bip_utils() {
    let cases = cases(EMBIT, "addresses");
    assert_eq!(cases.len(), 60);
    for case in cases {
        let key = key(case[0].as_str().unwrap());
        let public_key = chain().public_key(&key).unwrap();
        assert_eq!(public_key, bytes(case[1].as_str().unwrap()));
        assert_eq!(address(&key, Environment::Live), case[2]);
        assert_eq!(address(&key, Environment::Test), case[3]);
    }
}

#[test]
fn messages_are_signed_as_bip322_js_and_bitcoinjs_message_sign_them() {
    let cases = cases(BITCOINJS, "messages");
    assert_eq!(cases.len(), 50);
    for case in cases {
        let key = key(case[0].as_str().unwrap());
        let signed = case[1].as_str().unwrap();
        for (format, expected) in [
            ("bip322-unprefixed", &case[2]),
            ("bip137", &case[3]),
            ("electrum", &case[4]),
        ] {
            let answer = sign(&key, &message(signed, Some(format))).unwrap();
            assert_eq!(text(&answer, "signature"), expected, "{format} {signed}");
        }
    }
}

/// P2WPKH, the same inside P2SH, P2PKH and P2TR: the whole transaction, byte by byte (CH-10).
#[test]
fn transactions_are_those_of_bitcoinjs() {
    let cases = cases(BITCOINJS, "psbts");
    assert_eq!(cases.len(), 35);
    for case in cases {
        let psbt = STANDARD.decode(case[2].as_str().unwrap()).unwrap();
        let key = key(case[0].as_str().unwrap());
        let answer = sign(&key, &with(&psbt, json!({"finalize": true}))).unwrap();
        assert_eq!(answer["finalized"], json!(true), "{}", case[1]);
        assert_eq!(answer["signed_transaction"], case[3], "{}", case[1]);

        // Without finalizing, the PSBT has the same signatures, and finalizes to the same when it comes again.
        let partial = sign(&key, &of_bytes(&psbt)).unwrap();
        assert_eq!(partial["signatures"], answer["signatures"]);
        let again = with(&signed_bytes(&partial), json!({"finalize": true}));
        assert_eq!(sign(&key, &again).unwrap(), answer);
    }
}

/// Version 0 and version 2, inputs of others among ours. Taproot signatures differ by their auxiliary randomness and are
/// verified.
#[test]
fn signatures_are_those_of_embit() {
    let cases = cases(EMBIT, "psbts");
    assert_eq!(cases.len(), 40);
    let mut of_version = [0, 0];
    let mut taproot = 0;
    for case in cases {
        let psbt = STANDARD.decode(case[3].as_str().unwrap()).unwrap();
        let answer = sign(&key(case[0].as_str().unwrap()), &of_bytes(&psbt)).unwrap();
        let kinds: Vec<&str> = case[2].as_str().unwrap().split(',').collect();
        let ours = answer["signatures"].as_array().unwrap();
        let theirs = case[4].as_array().unwrap();
        assert_eq!(ours.len(), theirs.len(), "{kinds:?}");
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert_eq!(ours["index"], theirs[0]);
            let index = usize::try_from(theirs[0].as_u64().unwrap()).unwrap();
            if kinds[index] == "tr" {
                taproot += 1;
                verify_taproot(&psbt, index, ours["signature"].as_str().unwrap());
                verify_taproot(&psbt, index, theirs[1].as_str().unwrap());
            } else {
                assert_eq!(ours["signature"], theirs[1], "{kinds:?} {index}");
            }
        }
        of_version[usize::from(case[1] == json!(2))] += 1;
        kept(&psbt, &signed_bytes(&answer), ours.len());
    }
    assert!(of_version.iter().all(|count| *count > 10), "{of_version:?}");
    assert!(taproot > 10, "{taproot}");
}

/// The key in the output of a taproot input signs the digest of BIP-341.
fn verify_taproot(psbt: &[u8], index: usize, signature: &str) {
    let view: Psbt = Unsigned::read(psbt).unwrap().view;
    let spent: Vec<_> = work::spent(&view)
        .unwrap()
        .into_iter()
        .map(Option::unwrap)
        .collect();
    let digest = SighashCache::new(&view.unsigned_tx)
        .taproot_key_spend_signature_hash(index, &Prevouts::All(&spent), TapSighashType::Default)
        .unwrap();
    let output = &spent[index].script_pubkey.as_bytes()[2..];
    let key = ::bitcoin::XOnlyPublicKey::from_slice(output).unwrap();
    let signature = schnorr::Signature::from_slice(&bytes(signature)).unwrap();
    Secp256k1::verification_only()
        .verify_schnorr(&signature, &Message::from(digest), &key)
        .unwrap();
}

/// Every record of the PSBT is in the signed one, as it was; new are signatures only.
fn kept(before: &[u8], after: &[u8], signatures: usize) {
    let before = Unsigned::read(before).unwrap().container;
    let after = Unsigned::read(after).unwrap().container;
    let mut added = 0;
    let maps = |container: &super::super::container::Container| {
        [
            vec![container.global.clone()],
            container.inputs.clone(),
            container.outputs.clone(),
        ]
        .concat()
    };
    for (before, after) in maps(&before).iter().zip(&maps(&after)) {
        for record in before.records() {
            let same = after
                .records()
                .iter()
                .any(|other| other.key == record.key && other.value == record.value);
            assert!(same, "{:x?}", record.key);
        }
        added += after.records().len() - before.records().len();
    }
    assert_eq!(added, signatures);
}
