//! BIP-322: a message is signed as if a transaction spent a coin derived from the message.

use ::bitcoin::absolute::LockTime;
use ::bitcoin::hashes::{Hash, HashEngine, sha256};
use ::bitcoin::opcodes::OP_0;
use ::bitcoin::opcodes::all::OP_RETURN;
use ::bitcoin::script::Builder;
use ::bitcoin::transaction::Version;
use ::bitcoin::{
    Amount, OutPoint, Script, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, Witness,
};

/// The BIP-340 tag of the message hash (section "Full").
const TAG: &[u8] = b"BIP0322-signed-message";

/// The tagged hash of a message.
pub(super) fn message_hash(message: &[u8]) -> [u8; 32] {
    let tag = sha256::Hash::hash(TAG);
    let mut engine = sha256::Hash::engine();
    engine.input(tag.as_ref());
    engine.input(tag.as_ref());
    engine.input(message);
    sha256::Hash::from_engine(engine).to_byte_array()
}

/// `to_spend`: the transaction whose only output pays nothing to the address.
///
/// It can never be mined, because the output that it spends does not exist.
pub(super) fn to_spend(script_pubkey: &Script, message: &[u8]) -> Transaction {
    let script_sig = Builder::new()
        .push_opcode(OP_0)
        .push_slice(message_hash(message))
        .into_script();
    Transaction {
        version: Version(0),
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: OutPoint::new(Txid::all_zeros(), u32::MAX),
            script_sig,
            sequence: Sequence::ZERO,
            witness: Witness::new(),
        }],
        output: vec![TxOut {
            value: Amount::ZERO,
            script_pubkey: script_pubkey.to_owned(),
        }],
    }
}

/// `to_sign`: the transaction that spends `to_spend`, without its witness. The witness is the "simple" signature.
pub(super) fn to_sign(to_spend: &Transaction) -> Transaction {
    Transaction {
        version: Version(0),
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: OutPoint::new(to_spend.compute_txid(), 0),
            script_sig: ScriptBuf::new(),
            sequence: Sequence::ZERO,
            witness: Witness::new(),
        }],
        output: vec![TxOut {
            value: Amount::ZERO,
            script_pubkey: Builder::new().push_opcode(OP_RETURN).into_script(),
        }],
    }
}
