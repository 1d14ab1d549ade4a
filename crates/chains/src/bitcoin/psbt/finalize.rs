//! From signatures to a transaction that can be broadcast (BIP-174, "Input Finalizer" and "Transaction Extractor").
//!
//! Inputs with one key are finalized: P2WPKH, also inside P2SH, P2PKH, and taproot key spends. Inputs with scripts must be final already,
//! because only the script's author knows what satisfies it.

use ::bitcoin::key::PublicKey;
use ::bitcoin::psbt::{Input, PsbtSighashType};
use ::bitcoin::script::{Builder, PushBytesBuf};
use ::bitcoin::secp256k1::{Message, XOnlyPublicKey};
use ::bitcoin::sighash::SighashCache;
use ::bitcoin::{Psbt, ScriptBuf, Transaction, TxOut, Witness, ecdsa};

use super::super::Bitcoin;
use super::sighash::Sighash;
use super::spend::Spend;

/// The signed transaction; `None` while an input is incomplete or another party's signature is invalid.
pub(super) fn transaction(
    chain: &Bitcoin,
    view: &Psbt,
    spent: &[Option<TxOut>],
) -> Option<Transaction> {
    let mut cache = SighashCache::new(&view.unsigned_tx);
    let mut completed = view.unsigned_tx.clone();
    let inputs = completed.input.iter_mut().zip(&view.inputs);
    for (index, (place, input)) in inputs.enumerate() {
        let complete = Complete {
            chain,
            index,
            input,
            spent,
        };
        (place.script_sig, place.witness) = complete.scripts(&mut cache)?;
    }
    Some(completed)
}

struct Complete<'a> {
    chain: &'a Bitcoin,
    index: usize,
    input: &'a Input,
    spent: &'a [Option<TxOut>],
}

impl Complete<'_> {
    fn scripts(&self, cache: &mut SighashCache<&Transaction>) -> Option<(ScriptBuf, Witness)> {
        let input = self.input;
        if input.final_script_sig.is_some() || input.final_script_witness.is_some() {
            let script = input.final_script_sig.clone().unwrap_or_default();
            return Some((
                script,
                input.final_script_witness.clone().unwrap_or_default(),
            ));
        }
        let script = &self.spent.get(self.index)?.as_ref()?.script_pubkey;
        if script.is_p2tr() {
            return Some((ScriptBuf::new(), self.taproot(cache, script)?));
        }
        let (key, signature) = self.only_signature(cache, script)?;
        let witness = || Witness::p2wpkh(signature, &key.inner);
        if script.is_p2wpkh() {
            Some((ScriptBuf::new(), witness()))
        } else if script.is_p2sh() {
            let program = ScriptBuf::new_p2wpkh(&key.wpubkey_hash().ok()?);
            let program = PushBytesBuf::try_from(program.into_bytes()).ok()?;
            let script = Builder::new().push_slice(program).into_script();
            Some((script, witness()))
        } else {
            let script = Builder::new()
                .push_slice(signature.serialize())
                .push_key(key)
                .into_script();
            Some((script, Witness::new()))
        }
    }

    /// The signature of the script's only key, if it is present and valid.
    fn only_signature(
        &self,
        cache: &mut SighashCache<&Transaction>,
        script: &ScriptBuf,
    ) -> Option<(&PublicKey, &ecdsa::Signature)> {
        self.input.partial_sigs.iter().find(|(key, signature)| {
            let spend = single_key(script, key);
            let sighash = Sighash::of_number(signature.sighash_type.to_u32());
            let digest = spend
                .zip(sighash)
                .and_then(|(spend, sighash)| spend.digest(cache, self.index, self.spent, sighash));
            digest.is_some_and(|digest| {
                self.chain
                    .curve
                    .verify_ecdsa(
                        &Message::from_digest(digest),
                        &signature.signature,
                        &key.inner,
                    )
                    .is_ok()
            })
        })
    }

    fn taproot(
        &self,
        cache: &mut SighashCache<&Transaction>,
        script: &ScriptBuf,
    ) -> Option<Witness> {
        let signature = self.input.tap_key_sig.as_ref()?;
        let output_key = XOnlyPublicKey::from_slice(script.as_bytes().get(2..)?).ok()?;
        let spend = Spend::TaprootKey {
            merkle_root: None,
            output_key,
        };
        let sighash = Sighash::of_number(PsbtSighashType::from(signature.sighash_type).to_u32())?;
        let digest = spend.digest(cache, self.index, self.spent, sighash)?;
        self.chain
            .verify_schnorr(&signature.signature, digest, &output_key)
            .ok()?;
        Some(Witness::p2tr_key_spend(signature))
    }
}

/// The kind of spend of a script that pays to this key alone.
fn single_key(script: &ScriptBuf, key: &PublicKey) -> Option<Spend> {
    let program = || {
        key.wpubkey_hash()
            .ok()
            .map(|hash| ScriptBuf::new_p2wpkh(&hash))
    };
    if *script == ScriptBuf::new_p2pkh(&key.pubkey_hash()) {
        return Some(Spend::Legacy(script.clone()));
    }
    program()
        .filter(|program| program == script || program.to_p2sh() == *script)
        .map(Spend::KeyHash)
}
