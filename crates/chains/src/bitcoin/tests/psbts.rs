//! PSBTs of version 0 and 2.

use ::bitcoin::absolute::LockTime;
use ::bitcoin::hashes::Hash;
use ::bitcoin::transaction::Version;
use ::bitcoin::{
    Amount, CompressedPublicKey, OutPoint, Psbt, ScriptBuf, Sequence, Transaction, TxIn, TxOut,
    Txid, Witness,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use vestry_domain::signing::SigningRequest;

use super::support::{chain, sign, small, text};
use crate::{Chain, PrivateKey};

pub(super) fn public_key(key: &PrivateKey) -> CompressedPublicKey {
    CompressedPublicKey::from_slice(&chain().public_key(key).unwrap()).unwrap()
}

pub(super) fn p2wpkh(key: &PrivateKey) -> ScriptBuf {
    ScriptBuf::new_p2wpkh(&public_key(key).wpubkey_hash())
}

/// One input of 100,000 satoshi a script, one output of 90,000 a script.
pub(super) fn unsigned(scripts: &[ScriptBuf]) -> Psbt {
    let input = (0_u8..).zip(scripts).map(|(number, _)| TxIn {
        previous_output: OutPoint::new(Txid::from_byte_array([number; 32]), 3),
        script_sig: ScriptBuf::new(),
        sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
        witness: Witness::new(),
    });
    let output = scripts.iter().map(|script| TxOut {
        value: Amount::from_sat(90_000),
        script_pubkey: script.clone(),
    });
    let mut psbt = Psbt::from_unsigned_tx(Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: input.collect(),
        output: output.collect(),
    })
    .unwrap();
    for (input, script) in psbt.inputs.iter_mut().zip(scripts) {
        input.witness_utxo = Some(TxOut {
            value: Amount::from_sat(100_000),
            script_pubkey: script.clone(),
        });
    }
    psbt
}

pub(super) fn request(psbt: &Psbt) -> SigningRequest {
    SigningRequest::Transaction(json!({"psbt": STANDARD.encode(psbt.serialize())}))
}

#[test]
fn inputs_of_the_wallet_are_signed_and_others_left_alone() {
    let psbt = unsigned(&[p2wpkh(&small(1)), p2wpkh(&small(2)), p2wpkh(&small(1))]);
    let answer = sign(&small(1), &request(&psbt)).unwrap();
    let signed = STANDARD
        .decode(text(&answer, "signed_transaction"))
        .unwrap();
    let signed = Psbt::deserialize(&signed).unwrap();
    let counts: Vec<usize> = signed
        .inputs
        .iter()
        .map(|input| input.partial_sigs.len())
        .collect();
    assert_eq!(counts, [1, 0, 1]);
    assert_eq!(answer["finalized"], json!(false));
    assert_eq!(answer["signatures"].as_array().unwrap().len(), 2);
    assert_eq!(answer["signatures"][0]["index"], 0);
    assert_eq!(answer["signatures"][1]["index"], 2);
    assert_eq!(answer["signature"], answer["signatures"][0]["signature"]);
}
