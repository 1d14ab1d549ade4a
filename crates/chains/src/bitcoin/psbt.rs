//! Partially signed transactions: version 0 (BIP-174, BIP-371) and version 2 (BIP-370).
//!
//! What is signed: every input whose output pays to the wallet's key alone (P2WPKH, the same inside P2SH, P2TR without
//! scripts, P2PKH), and every input whose derivation fields name the key, when its script has the key in it (P2WSH, P2SH,
//! taproot with scripts). `sign_inputs` narrows that down, and is where a caller agrees to a signature hash type other
//! than ALL.
//!
//! Every input comes with the output that it spends, whoever signs it, or the fee could not be known; see [`fee::check`] for the
//! one exception.
//!
//! What comes back is the PSBT as it came, byte by byte, with our signatures put in: fields that this service does not
//! know stay as they are.

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
use work::{LEGACY_MAX, Work};

/// Reads a PSBT out of the object that a request has for it.
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
    if request.finalize && spent.iter().flatten().filter(is_legacy).count() > LEGACY_MAX {
        let rule = "is not possible with more than 200 inputs of P2PKH";
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

/// What no node would take, whoever signs it.
fn check(transaction: &Transaction) -> Result<(), Malformed> {
    // Four units for every byte that is no witness (BIP-141); the bound also limits what hashing may cost.
    let weight = u64::try_from(transaction.base_size().saturating_mul(4)).unwrap_or(u64::MAX);
    if weight > u64::from(policy::MAX_STANDARD_TX_WEIGHT) {
        return Err(
            "is of a transaction that is heavier than the 400,000 units that nodes pass on",
        );
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
