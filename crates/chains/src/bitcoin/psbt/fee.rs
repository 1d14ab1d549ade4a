//! The fee of a transaction, and its cap.

use std::borrow::Cow;

use ::bitcoin::{Amount, Transaction, TxOut};
use vestry_domain::signing::SigningRefused;

use super::unsigned::Malformed;
use crate::object::Object;

/// A fee up to this many satoshi (0.01 bitcoin) is always allowed.
///
/// A large transaction costs that much when blocks are full, and small amounts may need a fee that is a large part of them.
const FEE_FREE_OF_CAP: u64 = 1_000_000;
/// Above that, a fee of more than one part in this many of the inputs is treated as a mistake, such as a forgotten change output. It could
/// not be recovered.
const FEE_PART: u64 = 10;

/// Checks the amounts and the fee.
///
/// All amounts must be known: an input without one would hide its value from the cap. Two requests that each hide the other's input would
/// together sign a transaction that burns one of them.
///
/// The amount of an input without its full transaction is taken from the PSBT. A P2WPKH signature is valid for this amount only, but says
/// nothing about the amounts of other inputs (BIP-143). The cap therefore protects against mistakes, not against a caller who lies about
/// amounts.
///
/// `others_may_pay` is set if every signature lets others add inputs (ANYONECANPAY). Such a signature is valid whatever the other inputs
/// hold, so no cap can bind them, and naming this type in `sign_inputs` is consent to that. The outputs may then exceed the inputs, and
/// inputs of unknown amount count as zero. If the known inputs alone pay more than the cap, the request is still rejected.
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
        None if !others_may_pay => Err(FeeRefused::Malformed("has outputs that exceed its inputs")),
        _ => Ok(()),
    }
}

/// The reason why a fee is rejected.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FeeRefused {
    Malformed(Malformed),
    /// The index of the first input whose output is not in the PSBT.
    UnknownAmount(usize),
    AboveCap,
}

impl FeeRefused {
    /// The error for the request that contained the PSBT.
    pub(super) fn answer(&self, object: &Object<'_>) -> SigningRefused {
        match self {
            Self::Malformed(what) => object.refusal("psbt", what).into(),
            Self::UnknownAmount(index) => object.refusal("psbt", &unknown(*index)).into(),
            Self::AboveCap => SigningRefused::Denied(Cow::Borrowed(
                "the fee exceeds 0.01 bitcoin and a tenth of the inputs",
            )),
        }
    }
}

fn unknown(index: usize) -> String {
    format!(
        "has neither witness_utxo nor non_witness_utxo in input {index}; to check the fee, the amounts of all inputs are required, including those signed by others"
    )
}

fn total<'a>(outputs: impl IntoIterator<Item = &'a TxOut>) -> Result<u64, FeeRefused> {
    outputs
        .into_iter()
        .try_fold(0_u64, |sum, output| sum.checked_add(output.value.to_sat()))
        .filter(|sum| *sum <= Amount::MAX_MONEY.to_sat())
        .ok_or(FeeRefused::Malformed(
            "has amounts that exceed the bitcoin supply",
        ))
}
