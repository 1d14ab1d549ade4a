//! What a transaction costs, and what is too much.

use std::borrow::Cow;

use ::bitcoin::{Amount, Transaction, TxOut};
use vestry_domain::signing::SigningRefused;

use super::unsigned::Malformed;

/// A fee up to this many satoshi (0.01 bitcoin) is never refused: a large transaction costs as much when blocks are full,
/// and whoever moves small amounts may have to pay a great part of them.
const FEE_FREE_OF_CAP: u64 = 1_000_000;
/// Above that, a fee of more than one part in this many of the inputs is a mistake, such as a forgotten output for the
/// change, and nobody gives it back.
const FEE_PART: u64 = 10;

/// Checks amounts and fee. Outputs whose amount the PSBT does not have count as nothing, so that the fee is then the
/// least that it can be; of a PSBT that has none of them the fee cannot be known. The amount of an input without its whole
/// transaction is what the PSBT says: a signature for P2WPKH holds for this amount only, and says nothing of those of the
/// other inputs (BIP-143).
///
/// `others_may_pay`: somebody may add inputs after us, so that the outputs may be more than the inputs.
pub(super) fn check(
    transaction: &Transaction,
    spent: &[Option<TxOut>],
    others_may_pay: bool,
) -> Result<(), FeeRefused> {
    let inputs = total(spent.iter().flatten())?;
    let outputs = total(&transaction.output)?;
    let Some(fee) = inputs.checked_sub(outputs) else {
        let all_known = spent.iter().all(Option::is_some);
        return if all_known && !others_may_pay {
            Err(FeeRefused::Malformed("pays out more than its inputs hold"))
        } else {
            Ok(())
        };
    };
    if fee > FEE_FREE_OF_CAP && fee > inputs / FEE_PART {
        return Err(FeeRefused::AboveCap);
    }
    Ok(())
}

/// Why a fee is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FeeRefused {
    Malformed(Malformed),
    AboveCap,
}

impl FeeRefused {
    pub(super) fn denied() -> SigningRefused {
        SigningRefused::Denied(Cow::Borrowed(
            "the fee is above 0.01 bitcoin and above a tenth of the inputs",
        ))
    }
}

fn total<'a>(outputs: impl IntoIterator<Item = &'a TxOut>) -> Result<u64, FeeRefused> {
    outputs
        .into_iter()
        .try_fold(0_u64, |sum, output| sum.checked_add(output.value.to_sat()))
        .filter(|sum| *sum <= Amount::MAX_MONEY.to_sat())
        .ok_or(FeeRefused::Malformed("has more bitcoin than there are"))
}
