//! Which inputs are signed, how, and the responses.

use std::slice;

use ::bitcoin::consensus::encode;
use ::bitcoin::opcodes::all::{OP_CHECKMULTISIG, OP_CHECKSIG, OP_PUSHNUM_2};
use ::bitcoin::script::Builder;
use ::bitcoin::secp256k1::Secp256k1;
use ::bitcoin::sighash::TapSighashType;
use ::bitcoin::taproot::{LeafVersion, TapLeafHash, TaprootBuilder};
use ::bitcoin::{Psbt, PublicKey, ScriptBuf, Sequence, Transaction, XOnlyPublicKey};
use alloy_primitives::hex;
use serde_json::json;

use super::support::{
    as_v2, base64, of_bytes, p2wpkh, public_key, request, signed_bytes, source, unsigned, with,
};
use crate::ChainError;
use crate::bitcoin::psbt::unsigned::Unsigned;
use crate::bitcoin::tests::support::{Failed, method, sign, sign_with, small, text};

fn indices(answer: &serde_json::Map<String, serde_json::Value>) -> Vec<u64> {
    let signatures = answer["signatures"].as_array().unwrap();
    signatures
        .iter()
        .map(|entry| entry["index"].as_u64().unwrap())
        .collect()
}

/// BTC-3.
#[test]
fn inputs_of_the_wallet_are_signed_and_others_left_alone() {
    let psbt = unsigned(&[p2wpkh(&small(1)), p2wpkh(&small(2)), p2wpkh(&small(1))]);
    let answer = sign(&small(1), &request(&psbt)).unwrap();
    let signed = Psbt::deserialize(&signed_bytes(&answer)).unwrap();
    let counts: Vec<usize> = signed
        .inputs
        .iter()
        .map(|input| input.partial_sigs.len())
        .collect();
    assert_eq!(counts, [1, 0, 1]);
    assert_eq!(indices(&answer), [0, 2]);
    assert_eq!(answer["signature"], answer["signatures"][0]["signature"]);
    assert_eq!(answer["finalized"], json!(false));
    assert_eq!(answer["encoding"], json!("base64"));
    assert_eq!(answer.len(), 5);
    let of_key = PublicKey::new(public_key(&small(1)).0);
    assert_eq!(
        text(&answer, "signature"),
        hex::encode(signed.inputs[0].partial_sigs[&of_key].to_vec())
    );
}

#[test]
fn rpc_answers_as_sign_transaction_does_under_either_name() {
    let psbt = unsigned(&[p2wpkh(&small(1))]).serialize();
    for more in [
        json!({}),
        json!({"finalize": true}),
        json!({"sign_inputs": [{"index": 0, "sighash": "NONE"}]}),
        json!({"encoding": "base64", "finalize": null, "sign_inputs": null}),
    ] {
        let by_call = sign(&small(1), &with(&psbt, more.clone())).unwrap();
        for name in ["btc_signPsbt", "signPsbt"] {
            let mut params = more.clone();
            params["psbt"] = json!(base64(&psbt));
            assert_eq!(sign(&small(1), &method(name, params)).unwrap(), by_call);
        }
    }
}

#[test]
fn hex_comes_back_as_hex() {
    let psbt = unsigned(&[p2wpkh(&small(1))]).serialize();
    let plain = sign(&small(1), &of_bytes(&psbt)).unwrap();
    for text_of_psbt in [hex::encode(&psbt), hex::encode_prefixed(&psbt)] {
        let params = json!({"psbt": text_of_psbt, "encoding": "hex"});
        let answer = sign(&small(1), &method("signPsbt", params)).unwrap();
        assert_eq!(answer["encoding"], json!("hex"));
        assert_eq!(
            text(&answer, "signed_transaction"),
            hex::encode(signed_bytes(&plain))
        );
    }
}

#[test]
fn sign_inputs_chooses_and_agrees_to_types() {
    let psbt = unsigned(&[p2wpkh(&small(1)), p2wpkh(&small(1)), p2wpkh(&small(1))]);
    let listed =
        json!({"sign_inputs": [{"index": 2}, {"index": 0, "sighash": "SINGLE|ANYONECANPAY"}]});
    let answer = sign(&small(1), &with(&psbt.serialize(), listed)).unwrap();
    assert_eq!(indices(&answer), [0, 2]);
    let last_byte = |place: usize| {
        let text = answer["signatures"][place]["signature"].as_str().unwrap();
        text[text.len() - 2..].to_owned()
    };
    assert_eq!(last_byte(0), "83");
    assert_eq!(last_byte(1), "01");
    // The number means the same as the name.
    let by_number =
        json!({"sign_inputs": [{"index": 0, "sighash": 131}, {"index": 2, "sighash": 1}]});
    let same = sign(&small(1), &with(&psbt.serialize(), by_number)).unwrap();
    assert_eq!(same, answer);
}

/// SIGHASH_ALL covers what DEFAULT does (BIP-341), so an input of taproot may ask for it without being listed.
#[test]
fn taproot_signs_all_without_being_agreed_to() {
    let ours = XOnlyPublicKey::from(public_key(&small(1)).0);
    let script = ScriptBuf::new_p2tr(&Secp256k1::new(), ours, None);
    let mut psbt = unsigned(slice::from_ref(&script));
    for (asked, bytes) in [
        (None, 64),
        (Some(TapSighashType::Default), 64),
        (Some(TapSighashType::All), 65),
    ] {
        psbt.inputs[0].sighash_type = asked.map(Into::into);
        let answer = sign(&small(1), &request(&psbt)).unwrap();
        let signature = hex::decode(text(&answer, "signature")).unwrap();
        assert_eq!(signature.len(), bytes, "{asked:?}");
        // Its last byte names ALL, and it fits what ALL covers.
        assert_eq!(bytes == 65, signature.get(64) == Some(&1));
        let finalize = json!({"finalize": true});
        let answer = sign(&small(1), &with(&psbt.serialize(), finalize)).unwrap();
        assert_eq!(answer["finalized"], json!(true));
    }
}

/// BTC-3.
#[test]
fn version_2_comes_back_as_version_2_with_every_field() {
    for (modifiable, sighash, expected) in [
        (None, "ALL", None),
        (Some(0b011), "ALL", Some(0b000)),
        (Some(0b011), "NONE", Some(0b010)),
        (Some(0b011), "ALL|ANYONECANPAY", Some(0b001)),
        (Some(0b011), "SINGLE|ANYONECANPAY", Some(0b101)),
        (Some(0b1000_0111), "SINGLE", Some(0b1000_0100)),
        (None, "SINGLE", Some(0b100)),
    ] {
        let psbt = unsigned(&[p2wpkh(&small(1)), p2wpkh(&small(2))]);
        let before = as_v2(&psbt, modifiable);
        let listed = json!({"sign_inputs": [{"index": 0, "sighash": sighash}]});
        let answer = sign(&small(1), &with(&before, listed.clone())).unwrap();
        // The signature is that of the same transaction in version 0.
        let plain = sign(&small(1), &with(&psbt.serialize(), listed)).unwrap();
        assert_eq!(answer["signatures"], plain["signatures"]);

        let before = Unsigned::read(&before).unwrap();
        let after = Unsigned::read(&signed_bytes(&answer)).unwrap();
        assert!(after.is_v2);
        assert_eq!(after.view.unsigned_tx, before.view.unsigned_tx);
        assert_eq!(
            after.container.global.get(0x06).map(|value| value[0]),
            expected,
            "{sighash}"
        );
        assert_eq!(after.container.global.get(0xe0), Some(&b"anything"[..]));
        for input in &after.container.inputs {
            assert_eq!(input.get(0xe1), Some(&b"of an input"[..]));
        }
        for output in &after.container.outputs {
            assert_eq!(output.get(0xe2), Some(&b"of an output"[..]));
        }
    }
}

/// BIP-370: an input without a sequence number has the final one.
#[test]
fn version_2_inputs_without_a_sequence_are_final() {
    let mut psbt = unsigned(&[p2wpkh(&small(1))]);
    psbt.unsigned_tx.input[0].sequence = Sequence::MAX;
    let finalize = json!({"finalize": true});
    let answer = sign(&small(1), &with(&as_v2(&psbt, None), finalize.clone())).unwrap();
    assert_eq!(
        answer,
        sign(&small(1), &with(&psbt.serialize(), finalize)).unwrap()
    );
    let transaction: Transaction =
        encode::deserialize_hex(text(&answer, "signed_transaction")).unwrap();
    assert_eq!(transaction.input[0].sequence, Sequence::MAX);
}

/// BTC-5.
#[test]
fn a_transaction_is_final_once_the_last_owner_signed() {
    let psbt = unsigned(&[p2wpkh(&small(1)), p2wpkh(&small(2))]).serialize();
    let finalize = json!({"finalize": true});
    let first = sign(&small(1), &with(&psbt, finalize.clone())).unwrap();
    assert_eq!(first["finalized"], json!(false));
    assert_eq!(first["encoding"], json!("base64"));
    let second = sign(&small(2), &with(&signed_bytes(&first), finalize)).unwrap();
    assert_eq!(second["finalized"], json!(true));
    assert_eq!(second["encoding"], json!("hex"));
    let transaction: Transaction =
        encode::deserialize_hex(text(&second, "signed_transaction")).unwrap();
    for (input, owner) in transaction.input.iter().zip([1, 2]) {
        assert_eq!(input.witness.len(), 2);
        assert_eq!(
            input.witness.last(),
            Some(public_key(&small(owner)).to_bytes().as_slice())
        );
    }
}

#[test]
fn a_wrong_signature_of_somebody_else_keeps_a_transaction_from_being_final() {
    let psbt = unsigned(&[p2wpkh(&small(1)), p2wpkh(&small(2))]);
    let of_other = sign(&small(2), &request(&psbt)).unwrap();
    let mut other = Psbt::deserialize(&signed_bytes(&of_other)).unwrap();
    let theirs = PublicKey::new(public_key(&small(2)).0);
    let finalize = json!({"finalize": true});
    let good = sign(&small(1), &with(&other.serialize(), finalize.clone())).unwrap();
    assert_eq!(good["finalized"], json!(true));
    // The same signature, said to be of another type.
    other.inputs[1]
        .partial_sigs
        .get_mut(&theirs)
        .unwrap()
        .sighash_type = ::bitcoin::EcdsaSighashType::None;
    let wrong = sign(&small(1), &with(&other.serialize(), finalize)).unwrap();
    assert_eq!(wrong["finalized"], json!(false));
}

fn two_of_two() -> ScriptBuf {
    Builder::new()
        .push_opcode(OP_PUSHNUM_2)
        .push_key(&PublicKey::new(public_key(&small(1)).0))
        .push_key(&PublicKey::new(public_key(&small(2)).0))
        .push_opcode(OP_PUSHNUM_2)
        .push_opcode(OP_CHECKMULTISIG)
        .into_script()
}

#[test]
fn scripts_are_signed_where_the_fields_name_the_key() {
    let script = two_of_two();
    let ours = public_key(&small(1)).0;
    let mut psbt = unsigned(&[script.to_p2wsh(), p2wpkh(&small(3))]);
    psbt.inputs[0].witness_script = Some(script.clone());
    // Without a derivation the input belongs to no wallet.
    let refused = sign(&small(1), &request(&psbt)).unwrap_err();
    assert_eq!(refused.param(), "btc_transaction.psbt");
    psbt.inputs[0].bip32_derivation.insert(ours, source());
    let answer = sign(
        &small(1),
        &with(&psbt.serialize(), json!({"finalize": true})),
    )
    .unwrap();
    assert_eq!(indices(&answer), [0]);
    assert_eq!(answer["finalized"], json!(false));
    // A key that is in the fields but not in the script signs nothing.
    psbt.inputs[0]
        .bip32_derivation
        .insert(public_key(&small(3)).0, source());
    let answer = sign(&small(3), &request(&psbt)).unwrap();
    assert_eq!(indices(&answer), [1]);
    // Scripts that are not those of the output, or missing.
    psbt.inputs[0].witness_script = Some(ScriptBuf::new());
    assert_eq!(
        sign(&small(1), &request(&psbt)).unwrap_err().param(),
        "btc_transaction.psbt"
    );
    psbt.inputs[0].witness_script = None;
    assert_eq!(
        sign(&small(1), &request(&psbt)).unwrap_err().param(),
        "btc_transaction.psbt"
    );
}

#[test]
fn leaves_of_taproot_are_signed_where_the_fields_name_the_key() {
    let curve = Secp256k1::new();
    let ours = XOnlyPublicKey::from(public_key(&small(1)).0);
    let internal = XOnlyPublicKey::from(public_key(&small(9)).0);
    let leaf = Builder::new()
        .push_x_only_key(&ours)
        .push_opcode(OP_CHECKSIG)
        .into_script();
    let other = Builder::new()
        .push_x_only_key(&internal)
        .push_opcode(OP_CHECKSIG)
        .into_script();
    let tree = TaprootBuilder::new()
        .add_leaf(1, leaf.clone())
        .and_then(|builder| builder.add_leaf(1, other.clone()))
        .unwrap()
        .finalize(&curve, internal)
        .unwrap();
    let mut psbt = unsigned(&[ScriptBuf::new_p2tr_tweaked(tree.output_key())]);
    let hash = TapLeafHash::from_script(&leaf, LeafVersion::TapScript);
    let unrelated = TapLeafHash::from_script(&other, LeafVersion::TapScript);
    let control = tree
        .control_block(&(leaf.clone(), LeafVersion::TapScript))
        .unwrap();
    psbt.inputs[0]
        .tap_scripts
        .insert(control, (leaf, LeafVersion::TapScript));
    psbt.inputs[0].tap_internal_key = Some(internal);
    psbt.inputs[0].tap_merkle_root = tree.merkle_root();
    assert!(sign(&small(1), &request(&psbt)).is_err());
    psbt.inputs[0]
        .tap_key_origins
        .insert(ours, (vec![hash, unrelated], source()));
    let answer = sign(
        &small(1),
        &with(&psbt.serialize(), json!({"finalize": true})),
    )
    .unwrap();
    assert_eq!(answer["finalized"], json!(false));
    let signed = Psbt::deserialize(&signed_bytes(&answer)).unwrap();
    assert_eq!(signed.inputs[0].tap_script_sigs.len(), 1);
    assert!(signed.inputs[0].tap_script_sigs.contains_key(&(ours, hash)));
    // The internal key of the same output signs for the key path.
    let answer = sign(
        &small(9),
        &with(&psbt.serialize(), json!({"finalize": true})),
    )
    .unwrap();
    assert_eq!(answer["finalized"], json!(true));
}

#[test]
fn a_key_that_is_not_the_wallet_s_signs_nothing() {
    let p2tr = ScriptBuf::new_p2tr(
        &Secp256k1::new(),
        XOnlyPublicKey::from(public_key(&small(1)).0),
        None,
    );
    for script in [p2wpkh(&small(1)), p2wpkh(&small(1)).to_p2sh(), p2tr] {
        assert_eq!(
            sign_with(
                &small(1),
                &small(2),
                &request(&unsigned(slice::from_ref(&script)))
            ),
            Err(Failed::Chain(ChainError::Signature)),
            "{script}"
        );
    }
}
