//! Wallets whose address is P2TR (BIP-86).

use ::bitcoin::absolute::LockTime;
use ::bitcoin::consensus::encode;
use ::bitcoin::hashes::Hash;
use ::bitcoin::secp256k1::schnorr::Signature;
use ::bitcoin::secp256k1::{Message, Secp256k1, XOnlyPublicKey};
use ::bitcoin::sighash::{Prevouts, SighashCache, TapSighashType};
use ::bitcoin::transaction::Version;
use ::bitcoin::{
    Address, Amount, KnownHrp, OutPoint, Psbt, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid,
    Witness,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use vestry_domain::Environment;
use vestry_domain::signing::{Fields, SigningRefused, SigningRequest};
use vestry_domain::wallet::AddressForm;

use super::super::bip322;
use super::support::{chain, message, small, text, vectors, wif};
use crate::{Chain, ChainError, PrivateKey, Signer};

const MESSAGE: &str = "No prefix fallback";
/// BIP-322, `bip-0322/basic-test-vectors.json`, the "simple" entry of type "p2tr".
const KEY: &str = "KyrSGCFPhqZMjCe5fNTYddiLMp4tMj4gLKuJ26TsB2rvr1VJGPbt";
const ADDRESS: &str = "bc1pss0zhytly75awhm6x2hhvd5lnzv3vssgrf9axfheq8ldyzn88ges79fler";
const SIGNATURE: &str =
    "AUCJYOwOjxYAvatTAGYaVlNXBVyFuc4MwNQkOuK2tl8xhfKDONd0NjfYyNSYcRqeCp8hsAnCEPHAVEkO9h6vbQ/R";

fn address(key: &PrivateKey, environment: Environment) -> String {
    let public_key = chain().public_key(key).unwrap();
    chain()
        .address_in_form(&public_key, environment, AddressForm::Taproot)
        .unwrap()
}

fn prepared_for(
    address: &str,
    key: &PrivateKey,
    request: &SigningRequest,
) -> Result<Fields, SigningRefused> {
    let public_key = chain().public_key(key).unwrap();
    let signer = Signer {
        public_key: &public_key,
        address,
        environment: Environment::Live,
    };
    let prepared = chain().prepare(request, signer)?;
    let mut auxiliary = |bytes: &mut [u8]| bytes.fill(9);
    Ok(prepared.sign(key, &mut auxiliary).unwrap().fields)
}

fn signed(key: &PrivateKey, request: &SigningRequest) -> Result<Fields, SigningRefused> {
    prepared_for(&address(key, Environment::Live), key, request)
}

/// A verifier of "simple" P2TR signatures by the key (BIP-322, section "Verification Process").
fn verifies(address: &str, message: &str, signature: &str) -> bool {
    let address: Address<_> = address.parse().unwrap();
    let script = address.assume_checked().script_pubkey();
    let output_key = XOnlyPublicKey::from_slice(&script.as_bytes()[2..]).unwrap();
    let witness: Witness = encode::deserialize(&STANDARD.decode(signature).unwrap()).unwrap();
    let [signature] = witness.iter().collect::<Vec<_>>()[..] else {
        return false;
    };
    // 64 bytes stand for SIGHASH_DEFAULT (BIP-341).
    let signature = Signature::from_slice(signature).unwrap();
    let to_sign = bip322::to_sign(&bip322::to_spend(&script, message.as_bytes()));
    let spent = TxOut {
        value: Amount::ZERO,
        script_pubkey: script,
    };
    let digest = SighashCache::new(&to_sign)
        .taproot_key_spend_signature_hash(0, &Prevouts::All(&[spent]), TapSighashType::Default)
        .unwrap();
    let digest = Message::from_digest(digest.to_byte_array());
    Secp256k1::verification_only()
        .verify_schnorr(&signature, &digest, &output_key)
        .is_ok()
}

/// That one, and the "simple" entry of type "p2tr" of `generated-test-vectors.json`, whose signature has its prefix.
#[test]
fn the_vectors_of_bip_322_have_our_address_and_digest() {
    let file = vectors(include_str!("../vectors/bip322.json"));
    let of_file = |name: &str| file["simple"][1][name].as_str().unwrap();
    let key_of_file = file["simple"][1]["keys"][0].as_str().unwrap();
    assert_eq!(of_file("type"), "p2tr");
    for (key, own, message, signature) in [
        (KEY, ADDRESS, MESSAGE, SIGNATURE),
        (
            key_of_file,
            of_file("address"),
            of_file("message"),
            of_file("signature").strip_prefix("smp").unwrap(),
        ),
    ] {
        assert_eq!(address(&wif(key), Environment::Live), own);
        assert!(verifies(own, message, signature));
        assert!(!verifies(own, &message.to_lowercase(), signature));
    }
}

/// The signature is not compared: its nonce depends on random bytes.
#[test]
fn messages_are_signed_by_the_key_of_the_output() {
    let key = wif(KEY);
    let answer = signed(&key, &message(MESSAGE, None)).unwrap();
    let unprefixed = text(&answer, "signature_unprefixed");
    assert_eq!(text(&answer, "signature"), format!("smp{unprefixed}"));
    assert_eq!(text(&answer, "encoding"), "base64");
    // How many items, the length of one, and 64 bytes.
    assert_eq!(STANDARD.decode(unprefixed).unwrap().len(), 66);
    assert!(verifies(ADDRESS, MESSAGE, unprefixed));
    assert!(!verifies(ADDRESS, "another", unprefixed));
    for number in 1..=20 {
        let key = small(number);
        let text_signed = format!("message {number}");
        let answer = signed(&key, &message(&text_signed, Some("bip322-unprefixed"))).unwrap();
        let own = address(&key, Environment::Live);
        assert!(verifies(&own, &text_signed, text(&answer, "signature")));
    }
}

/// BTC-2.
#[test]
fn formats_that_recover_a_key_are_refused() {
    for format in ["bip137", "electrum"] {
        let refused = signed(&small(1), &message("hello", Some(format))).unwrap_err();
        let SigningRefused::Invalid(invalid) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(invalid.param, "format");
        assert!(invalid.message.contains(format), "{}", invalid.message);
    }
}

#[test]
fn a_key_that_is_not_the_wallet_s_signs_nothing() {
    let public_key = chain().public_key(&small(1)).unwrap();
    let signer = Signer {
        public_key: &public_key,
        address: &address(&small(1), Environment::Live),
        environment: Environment::Live,
    };
    let prepared = chain().prepare(&message("hello", None), signer).unwrap();
    let answer = prepared.sign(&small(2), &mut |bytes: &mut [u8]| bytes.fill(9));
    assert_eq!(answer.err(), Some(ChainError::Signature));
}

#[test]
fn an_address_of_another_key_or_network_is_denied() {
    for stranger in [
        address(&small(2), Environment::Live),
        address(&small(1), Environment::Test),
    ] {
        let denied = prepared_for(&stranger, &small(1), &message("hello", None));
        assert!(
            matches!(denied, Err(SigningRefused::Denied(_))),
            "{stranger}"
        );
    }
}

/// A coin on the wallet's own address, and one on the other address of its key.
#[test]
fn coins_on_both_addresses_of_the_key_are_spent() {
    let key = small(3);
    let own: Address<_> = address(&key, Environment::Live).parse().unwrap();
    let public_key = chain().public_key(&key).unwrap();
    let public_key = ::bitcoin::CompressedPublicKey::from_slice(&public_key).unwrap();
    let scripts = [
        own.assume_checked().script_pubkey(),
        Address::p2wpkh(&public_key, KnownHrp::Mainnet).script_pubkey(),
    ];
    let mut psbt = Psbt::from_unsigned_tx(Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: (0..2)
            .map(|vout| TxIn {
                previous_output: OutPoint::new(Txid::from_byte_array([7; 32]), vout),
                script_sig: ScriptBuf::new(),
                sequence: Sequence::MAX,
                witness: Witness::new(),
            })
            .collect(),
        output: vec![TxOut {
            value: Amount::from_sat(19_000),
            script_pubkey: scripts[0].clone(),
        }],
    })
    .unwrap();
    for (input, script_pubkey) in psbt.inputs.iter_mut().zip(scripts) {
        input.witness_utxo = Some(TxOut {
            value: Amount::from_sat(10_000),
            script_pubkey,
        });
    }
    let psbt = STANDARD.encode(psbt.serialize());
    let request = SigningRequest::Transaction(json!({ "psbt": psbt }));
    let answer = signed(&key, &request).unwrap();
    let bytes = STANDARD
        .decode(text(&answer, "signed_transaction"))
        .unwrap();
    let answered = Psbt::deserialize(&bytes).unwrap();
    let of_taproot = answered.inputs[0].tap_key_sig.unwrap();
    assert_eq!(of_taproot.sighash_type, TapSighashType::Default);
    assert_eq!(of_taproot.serialize().len(), 64);
    assert_eq!(answered.inputs[1].partial_sigs.len(), 1);
    let finalized = SigningRequest::Transaction(json!({ "psbt": psbt, "finalize": true }));
    let answer = signed(&key, &finalized).unwrap();
    assert_eq!(answer["finalized"], json!(true));
}
