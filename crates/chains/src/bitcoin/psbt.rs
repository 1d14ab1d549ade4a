//! Partially signed transactions: version 0 (BIP-174, BIP-371) and version 2 (BIP-370).
//!
//! Two kinds of inputs are signed. The first are those whose output pays to the wallet's key alone (P2WPKH, also inside P2SH, P2TR without
//! scripts, P2PKH). The second are those whose derivation fields name the key and whose script contains it (P2WSH, P2SH, taproot with
//! scripts). `sign_inputs` narrows the selection, and is where a caller agrees to a signature hash type other than ALL.
//!
//! Every input must include the output that it spends, whoever signs it, because otherwise the fee is unknown; see [`fee::check`] for the
//! one exception.
//!
//! The result is the original PSBT, byte for byte, with our signatures added. Unknown fields are kept.

mod container;
mod fee;
mod finalize;
mod ours;
mod request;
mod sighash;
mod signed;
mod spend;
mod unsigned;
mod work;

use std::collections::BTreeSet;

use ::bitcoin::{Transaction, TxOut, policy};
use vestry_domain::signing::SigningRefused;

use super::{Bitcoin, Owner};
use crate::Prepared;
use crate::object::Object;
use request::Request;
use signed::SignsPsbt;
use unsigned::{Malformed, Unsigned};
use work::{MAX_LEGACY, Work};

/// Reads the PSBT in a request object.
pub(super) fn prepare<'a>(
    chain: &'a Bitcoin,
    owner: Owner,
    object: &Object<'_>,
) -> Result<Box<dyn Prepared + 'a>, SigningRefused> {
    let request = Request::read(object)?;
    let refuse = |what: Malformed| object.refusal("psbt", what);
    let unsigned = Unsigned::read(&request.psbt).map_err(refuse)?;
    let view = &unsigned.view;
    check(&view.unsigned_tx).map_err(refuse)?;
    let spent = work::spent(view).map_err(refuse)?;
    let is_legacy = |output: &&TxOut| output.script_pubkey.is_p2pkh();
    if request.finalize && spent.iter().flatten().filter(is_legacy).count() > MAX_LEGACY {
        let rule = "is not supported with more than 200 P2PKH inputs";
        return Err(object.refusal("finalize", rule).into());
    }
    let work = Work {
        chain,
        owner: &owner,
        view,
        spent: &spent,
        object,
    };
    let tasks = work.tasks(request.sign_inputs.as_ref())?;
    let others_may_pay = tasks.iter().all(|task| task.sighash.lets_others_pay());
    fee::check(&view.unsigned_tx, &spent, others_may_pay)
        .map_err(|refused| refused.answer(object))?;
    Ok(Box::new(SignsPsbt {
        chain,
        owner,
        unsigned,
        spent,
        tasks,
        encoding: request.encoding,
        finalize: request.finalize,
    }))
}

/// Rejects transactions that no node would accept, whoever signs them.
fn check(transaction: &Transaction) -> Result<(), Malformed> {
    // Four weight units for every non-witness byte (BIP-141). The bound also limits the cost of hashing.
    let weight = u64::try_from(transaction.base_size().saturating_mul(4)).unwrap_or(u64::MAX);
    if weight > u64::from(policy::MAX_STANDARD_TX_WEIGHT) {
        return Err("exceeds the 400,000 weight units that nodes relay");
    }
    let mut seen = BTreeSet::new();
    let twice = |outpoint| !seen.insert(outpoint);
    if transaction
        .input
        .iter()
        .map(|input| input.previous_output)
        .any(twice)
    {
        return Err("spends an output twice");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
