//! PSBTs to test with.

use ::bitcoin::absolute::LockTime;
use ::bitcoin::bip32::{DerivationPath, Fingerprint, KeySource};
use ::bitcoin::consensus::encode;
use ::bitcoin::hashes::Hash;
use ::bitcoin::transaction::Version;
use ::bitcoin::{
    Amount, CompressedPublicKey, OutPoint, Psbt, ScriptBuf, Sequence, Transaction, TxIn, TxOut,
    Txid, Witness,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use vestry_domain::Environment;
use vestry_domain::signing::{Fields, SigningRequest};

use crate::bitcoin::psbt::unsigned::Unsigned;
use crate::bitcoin::psbt::{finalize, work};
use crate::bitcoin::tests::support::{Failed, chain, text};
use crate::{Chain, PrivateKey, Signer};

/// What every input of [`unsigned`] holds, and what every output gets, in satoshi.
pub(super) const INPUT: u64 = 100_000;
pub(super) const OUTPUT: u64 = 90_000;

pub(super) fn public_key(key: &PrivateKey) -> CompressedPublicKey {
    CompressedPublicKey::from_slice(&chain().public_key(key).unwrap()).unwrap()
}

pub(super) fn p2wpkh(key: &PrivateKey) -> ScriptBuf {
    ScriptBuf::new_p2wpkh(&public_key(key).wpubkey_hash())
}

/// A transaction that pays [`INPUT`] to a script; `number` tells several apart.
pub(super) fn funding(number: u8, script: &ScriptBuf) -> Transaction {
    Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: OutPoint::new(Txid::from_byte_array([number; 32]), 7),
            script_sig: ScriptBuf::new(),
            sequence: Sequence::MAX,
            witness: Witness::new(),
        }],
        output: vec![
            TxOut {
                value: Amount::from_sat(1),
                script_pubkey: ScriptBuf::new(),
            },
            TxOut {
                value: Amount::from_sat(INPUT),
                script_pubkey: script.clone(),
            },
        ],
    }
}

/// An input and an output for every script; the inputs have their whole transactions.
pub(super) fn unsigned(scripts: &[ScriptBuf]) -> Psbt {
    let fundings: Vec<Transaction> = (0_u8..)
        .zip(scripts)
        .map(|(number, script)| funding(number, script))
        .collect();
    let input = fundings.iter().map(|funding| TxIn {
        previous_output: OutPoint::new(funding.compute_txid(), 1),
        script_sig: ScriptBuf::new(),
        sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
        witness: Witness::new(),
    });
    let output = scripts.iter().map(|script| TxOut {
        value: Amount::from_sat(OUTPUT),
        script_pubkey: script.clone(),
    });
    let mut psbt = Psbt::from_unsigned_tx(Transaction {
        version: Version::TWO,
        lock_time: LockTime::from_consensus(800_000),
        input: input.collect(),
        output: output.collect(),
    })
    .unwrap();
    for (input, funding) in psbt.inputs.iter_mut().zip(&fundings) {
        input.witness_utxo = Some(funding.output[1].clone());
        input.non_witness_utxo = Some(funding.clone());
    }
    psbt
}

/// The same PSBT in version 2, put together by hand.
pub(super) fn as_v2(psbt: &Psbt, modifiable: Option<u8>) -> Vec<u8> {
    let record = |kind: u8, value: &[u8]| {
        [&[1, kind], encode::serialize(&value.to_vec()).as_slice()].concat()
    };
    let tx = &psbt.unsigned_tx;
    let mut bytes = b"psbt\xff".to_vec();
    bytes.extend(record(0x02, &tx.version.0.to_le_bytes()));
    bytes.extend(record(0x03, &tx.lock_time.to_consensus_u32().to_le_bytes()));
    bytes.extend(record(0x04, &[u8::try_from(tx.input.len()).unwrap()]));
    bytes.extend(record(0x05, &[u8::try_from(tx.output.len()).unwrap()]));
    if let Some(flags) = modifiable {
        bytes.extend(record(0x06, &[flags]));
    }
    bytes.extend(record(0xfb, &2_u32.to_le_bytes()));
    // An unknown field.
    bytes.extend(record(0xe0, b"anything"));
    bytes.push(0);
    for (spends, input) in tx.input.iter().zip(&psbt.inputs) {
        if let Some(output) = &input.witness_utxo {
            bytes.extend(record(0x01, &encode::serialize(output)));
        }
        bytes.extend(record(0x0e, spends.previous_output.txid.as_ref()));
        bytes.extend(record(0x0f, &spends.previous_output.vout.to_le_bytes()));
        // Left out where it is what BIP-370 has for inputs without.
        if spends.sequence != Sequence::MAX {
            bytes.extend(record(0x10, &spends.sequence.0.to_le_bytes()));
        }
        bytes.extend(record(0xe1, b"of an input"));
        bytes.push(0);
    }
    for output in &tx.output {
        bytes.extend(record(0x03, &output.value.to_sat().to_le_bytes()));
        bytes.extend(record(0x04, output.script_pubkey.as_bytes()));
        bytes.extend(record(0xe2, b"of an output"));
        bytes.push(0);
    }
    bytes
}

pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(super) fn of_bytes(bytes: &[u8]) -> SigningRequest {
    SigningRequest::Transaction(json!({ "psbt": base64(bytes) }))
}

pub(super) fn request(psbt: &Psbt) -> SigningRequest {
    of_bytes(&psbt.serialize())
}

/// With more fields beside the PSBT.
pub(super) fn with(psbt: &[u8], mut more: Value) -> SigningRequest {
    more["psbt"] = json!(base64(psbt));
    SigningRequest::Transaction(more)
}

/// Prepares a request for the wallet of a public key; the private key is not needed for that.
pub(super) fn prepare(public_key: &[u8], request: &SigningRequest) -> Result<(), Failed> {
    let signer = Signer {
        public_key,
        address: &chain().address(public_key, Environment::Live).unwrap(),
        environment: Environment::Live,
    };
    chain()
        .prepare(request, signer)
        .map(drop)
        .map_err(Failed::Refused)
}

/// The transaction that the fields of a PSBT complete.
pub(super) fn transaction(psbt: &[u8]) -> Option<Transaction> {
    let view = Unsigned::read(psbt).unwrap().view;
    finalize::transaction(chain(), &view, &work::spent(&view).unwrap())
}

/// The origin of a key, which is ignored.
pub(super) fn source() -> KeySource {
    (Fingerprint::default(), DerivationPath::default())
}

/// The base64 in a vector.
pub(super) fn decoded(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap()).unwrap()
}

/// The PSBT in an answer.
pub(super) fn signed_bytes(answer: &Fields) -> Vec<u8> {
    STANDARD.decode(text(answer, "signed_transaction")).unwrap()
}
