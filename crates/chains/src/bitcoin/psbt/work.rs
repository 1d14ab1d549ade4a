//! From a PSBT and the caller's choices to the digests to sign.

use std::collections::BTreeMap;

use ::bitcoin::psbt::Input;
use ::bitcoin::sighash::SighashCache;
use ::bitcoin::{Psbt, TxOut};
use vestry_domain::Invalid;

use super::super::{Bitcoin, Owner};
use super::ours;
use super::request::Listed;
use super::sighash::Sighash;
use super::spend::Spend;
use super::unsigned::Malformed;
use crate::object::Object;

/// The maximum number of pre-segwit inputs signed at once.
///
/// Each costs a hash over the whole transaction (BIP-143, "Motivation"), so the cost grows with the square of the size.
pub(super) const MAX_LEGACY: usize = 200;

/// One signature to make.
pub(super) struct Task {
    pub(super) index: usize,
    pub(super) spend: Spend,
    pub(super) sighash: Sighash,
    pub(super) digest: [u8; 32],
}

/// The state in which the inputs of a PSBT are examined.
pub(super) struct Work<'a> {
    pub(super) chain: &'a Bitcoin,
    pub(super) owner: &'a Owner,
    pub(super) view: &'a Psbt,
    pub(super) spent: &'a [Option<TxOut>],
    /// The request object, for error messages.
    pub(super) object: &'a Object<'a>,
}

impl Work<'_> {
    /// All signatures to make, in input order.
    pub(super) fn tasks(
        &self,
        listed: Option<&BTreeMap<usize, Listed>>,
    ) -> Result<Vec<Task>, Invalid> {
        if let Some((index, entry)) = listed.and_then(|listed| listed.last_key_value())
            && *index >= self.view.inputs.len()
        {
            return Err(self.refuse_listed(entry, "index", "is not an input index"));
        }
        let mut cache = SighashCache::new(&self.view.unsigned_tx);
        let mut tasks = Vec::new();
        let mut legacy = 0_usize;
        for (index, input) in self.view.inputs.iter().enumerate() {
            let entry = listed.and_then(|listed| listed.get(&index));
            if listed.is_some() && entry.is_none() {
                continue;
            }
            let spends = self.spends(index, input)?;
            if let Some(entry) = entry
                && spends.is_empty()
            {
                let what = "is an input that this wallet cannot sign";
                return Err(self.refuse_listed(entry, "index", what));
            }
            for spend in spends {
                legacy = legacy.saturating_add(usize::from(matches!(spend, Spend::Legacy(_))));
                if legacy > MAX_LEGACY {
                    return Err(self.refuse(TOO_MANY_LEGACY));
                }
                let sighash = self.sighash(index, input, &spend, entry)?;
                let digest = spend
                    .digest(&mut cache, index, self.spent, sighash)
                    .ok_or_else(|| self.refuse(OUTPUTS_MISSING))?;
                tasks.push(Task {
                    index,
                    spend,
                    sighash,
                    digest,
                });
            }
        }
        if tasks.is_empty() {
            return Err(self.refuse("has no input that this wallet can sign"));
        }
        Ok(tasks)
    }

    /// What the wallet can sign in an input; nothing if it is final already.
    fn spends(&self, index: usize, input: &Input) -> Result<Vec<Spend>, Invalid> {
        if input.final_script_sig.is_some() || input.final_script_witness.is_some() {
            return Ok(Vec::new());
        }
        let Some(output) = self.spent.get(index).and_then(Option::as_ref) else {
            // Without the output, only the fields can tell whose input it is.
            return if ours::names(self.owner, input) {
                Err(self.refuse("has an input of this wallet without the output it spends"))
            } else {
                Ok(Vec::new())
            };
        };
        let spends = ours::spends(self.chain, self.owner, input, &output.script_pubkey)
            .map_err(|malformed| self.refuse(malformed))?;
        let is_legacy = |spend: &Spend| matches!(spend, Spend::Legacy(_));
        if input.non_witness_utxo.is_none() && spends.iter().any(is_legacy) {
            // The signature does not cover the amount; only the full transaction proves it (BIP-174, "Signer").
            return Err(
                self.refuse("has a pre-segwit input of this wallet without non_witness_utxo")
            );
        }
        Ok(spends)
    }

    /// The type chosen by the caller, the PSBT or the kind of output, in this order. All that are given must agree.
    fn sighash(
        &self,
        index: usize,
        input: &Input,
        spend: &Spend,
        entry: Option<&Listed>,
    ) -> Result<Sighash, Invalid> {
        let field = input
            .sighash_type
            .map(|field| {
                Sighash::of_number(field.to_u32())
                    .ok_or_else(|| self.refuse("has an input with an unknown signature hash type"))
            })
            .transpose()?;
        let agreed = entry.and_then(|entry| entry.sighash.map(|sighash| (entry, sighash)));
        if let (Some(field), Some((entry, agreed))) = (field, agreed)
            && field != agreed
        {
            let what = format!("is not {}, the type that the input requires", field.name());
            return Err(self.refuse_listed(entry, "sighash", &what));
        }
        let usual = if spend.is_taproot() {
            Sighash::DEFAULT
        } else {
            Sighash::ALL
        };
        let sighash = agreed.map(|(_, agreed)| agreed).or(field).unwrap_or(usual);
        if agreed.is_none() && !sighash.covers_everything() {
            let what = format!(
                "requires the signature hash type {} in input {index}; to allow it, name it in sign_inputs",
                sighash.name()
            );
            return Err(self.refuse(&what));
        }
        let refuse = |what| match agreed {
            Some((entry, _)) => self.refuse_listed(entry, "sighash", what),
            None => self.refuse(what),
        };
        if sighash == Sighash::DEFAULT && !spend.is_taproot() {
            return Err(refuse(
                "requires the signature hash type DEFAULT for a non-taproot input",
            ));
        }
        if sighash.is_single() && index >= self.view.unsigned_tx.output.len() {
            // Before taproot, such a signature covers nothing and can be reused in any transaction.
            return Err(refuse(
                "requires SINGLE for an input without a matching output",
            ));
        }
        Ok(sighash)
    }

    pub(super) fn refuse(&self, what: &str) -> Invalid {
        self.object.refusal("psbt", what)
    }

    fn refuse_listed(&self, entry: &Listed, field: &str, what: &str) -> Invalid {
        let field = format!("sign_inputs[{}].{field}", entry.place);
        self.object.refusal(&field, what)
    }
}

const TOO_MANY_LEGACY: Malformed =
    "has more than 200 pre-segwit inputs of this wallet; name fewer in sign_inputs";

const OUTPUTS_MISSING: Malformed = "lacks an output that the signature would cover; taproot signatures cover the outputs of all inputs";

/// The outputs spent by the inputs, as far as the PSBT contains them.
pub(super) fn spent(view: &Psbt) -> Result<Vec<Option<TxOut>>, Malformed> {
    view.unsigned_tx
        .input
        .iter()
        .zip(&view.inputs)
        .map(|(spends, input)| {
            let Some(whole) = &input.non_witness_utxo else {
                return Ok(input.witness_utxo.clone());
            };
            if whole.compute_txid() != spends.previous_output.txid {
                return Err("has a non_witness_utxo that is not the transaction its input spends");
            }
            let output = usize::try_from(spends.previous_output.vout)
                .ok()
                .and_then(|place| whole.output.get(place))
                .ok_or("has an input whose output is missing from its non_witness_utxo")?;
            match &input.witness_utxo {
                Some(other) if other != output => {
                    Err("has a witness_utxo that differs from its non_witness_utxo")
                }
                _ => Ok(Some(output.clone())),
            }
        })
        .collect()
}
