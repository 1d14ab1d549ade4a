//! What a transaction costs, and what is too much.

use std::borrow::Cow;

use ::bitcoin::{Amount, Transaction, TxOut};
use vestry_domain::signing::SigningRefused;

use super::unsigned::Malformed;
use crate::object::Object;

/// A fee up to this many satoshi (0.01 bitcoin) is never refused: a large transaction costs as much when blocks are full,
/// and whoever moves small amounts may have to pay a great part of them.
const FEE_FREE_OF_CAP: u64 = 1_000_000;
/// Above that, a fee of more than one part in this many of the inputs is a mistake, such as a forgotten output for the
/// change, and nobody gives it back.
const FEE_PART: u64 = 10;

/// Checks amounts and fee. All amounts must be known: an input without one would hide from the cap what it holds, and two
/// requests that each hide the other's input would together sign a transaction that burns one of them.
///
/// The amount of an input without its whole transaction is what the PSBT says: a signature for P2WPKH holds for this
/// amount only, and says nothing of those of the other inputs (BIP-143). So the cap is against mistakes, not against who
/// asks for signatures with false amounts.
///
/// `others_may_pay`: every signature lets others add inputs (ANYONECANPAY). It fits whatever the other inputs hold, so no
/// cap can bind them, and who names this type in `sign_inputs` has agreed to that. The outputs may then be more than the
/// inputs, and inputs without an amount count as nothing: what the known ones alone pay above the cap is refused.
pub(super) fn check(
    transaction: &Transaction,
    spent: &[Option<TxOut>],
    others_may_pay: bool,
) -> Result<(), FeeRefused> {
    if !others_may_pay && let Some(index) = spent.iter().position(Option::is_none) {
        return Err(FeeRefused::UnknownAmount(index));
    }
    let inputs = total(spent.iter().flatten())?;
    let outputs = total(&transaction.output)?;
    match inputs.checked_sub(outputs) {
        Some(fee) if fee > FEE_FREE_OF_CAP && fee > inputs / FEE_PART => Err(FeeRefused::AboveCap),
        None if !others_may_pay => Err(FeeRefused::Malformed("pays out more than its inputs hold")),
        _ => Ok(()),
    }
}

/// Why a fee is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FeeRefused {
    Malformed(Malformed),
    /// The number of the first input whose output is not in the PSBT.
    UnknownAmount(usize),
    AboveCap,
}

impl FeeRefused {
    /// The answer to a request whose PSBT it was.
    pub(super) fn answer(&self, object: &Object<'_>) -> SigningRefused {
        match self {
            Self::Malformed(what) => object.refusal("psbt", what).into(),
            Self::UnknownAmount(index) => object.refusal("psbt", &unknown(*index)).into(),
            Self::AboveCap => SigningRefused::Denied(Cow::Borrowed(
                "the fee is above 0.01 bitcoin and above a tenth of the inputs",
            )),
        }
    }
}

fn unknown(index: usize) -> String {
    format!(
        "has neither witness_utxo nor non_witness_utxo in input {index}; the fee is known only with the amounts of all inputs, also of those that others sign"
    )
}

fn total<'a>(outputs: impl IntoIterator<Item = &'a TxOut>) -> Result<u64, FeeRefused> {
    outputs
        .into_iter()
        .try_fold(0_u64, |sum, output| sum.checked_add(output.value.to_sat()))
        .filter(|sum| *sum <= Amount::MAX_MONEY.to_sat())
        .ok_or(FeeRefused::Malformed("has more bitcoin than there are"))
}
