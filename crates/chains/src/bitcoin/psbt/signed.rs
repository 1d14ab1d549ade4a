//! Signs the inputs, adds the signatures to the PSBT, and builds the response.

use ::bitcoin::consensus::encode;
use ::bitcoin::key::PublicKey;
use ::bitcoin::{TxOut, ecdsa, taproot};
use alloy_primitives::hex;
use serde_json::{Value, json};
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, PayloadHash, Signed};

use super::super::schnorr::Tweaked;
use super::super::{Bitcoin, Owner};
use super::finalize;
use super::request::Encoding;
use super::sighash::Sighash;
use super::spend::Spend;
use super::unsigned::{GLOBAL_TX_MODIFIABLE, Unsigned};
use super::work::Task;
use crate::{ChainError, Prepared, PrivateKey};

const IN_PARTIAL_SIG: u8 = 0x02;
const IN_TAP_KEY_SIG: u8 = 0x13;
const IN_TAP_SCRIPT_SIG: u8 = 0x14;

/// The flags of [`GLOBAL_TX_MODIFIABLE`] (BIP-370).
const INPUTS_MODIFIABLE: u8 = 0b001;
const OUTPUTS_MODIFIABLE: u8 = 0b010;
const HAS_SINGLE: u8 = 0b100;

/// A PSBT that has been read and checked.
pub(super) struct SignsPsbt<'a> {
    pub(super) chain: &'a Bitcoin,
    pub(super) owner: Owner,
    pub(super) unsigned: Unsigned,
    /// The outputs spent by the inputs, as far as the PSBT contains them.
    pub(super) spent: Vec<Option<TxOut>>,
    pub(super) tasks: Vec<Task>,
    pub(super) encoding: Encoding,
    pub(super) finalize: bool,
}

/// A signature with its hash type, in the form used in transactions.
enum Made {
    Ecdsa(ecdsa::Signature),
    Taproot(taproot::Signature),
}

impl Made {
    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Ecdsa(signature) => signature.to_vec(),
            Self::Taproot(signature) => signature.to_vec(),
        }
    }
}

impl Prepared for SignsPsbt<'_> {
    fn sign(&self, key: &PrivateKey, source: &mut dyn ByteSource) -> Result<Signed, ChainError> {
        let mut unsigned = self.unsigned.clone();
        let mut signatures = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let made = self.sign_task(task, key, source)?;
            let bytes = made.to_bytes();
            signatures.push(json!({ "index": task.index, "signature": hex::encode(&bytes) }));
            self.put(&mut unsigned, task, &made, bytes)
                .ok_or(ChainError::Signature)?;
        }
        let digests = self.tasks.iter().map(|task| task.digest);
        let payload: Vec<u8> = digests.flatten().collect();
        Ok(Signed {
            fields: self.answer(&unsigned, signatures),
            payload: PayloadHash::of(&payload),
        })
    }
}

impl SignsPsbt<'_> {
    fn sign_task(
        &self,
        task: &Task,
        key: &PrivateKey,
        source: &mut dyn ByteSource,
    ) -> Result<Made, ChainError> {
        let (tweaked, public_key) = match &task.spend {
            Spend::Legacy(_) | Spend::KeyHash(_) | Spend::WitnessScript(_) => {
                let public_key = &self.owner.public_key.0;
                return Ok(Made::Ecdsa(ecdsa::Signature {
                    signature: self.chain.sign_ecdsa(key, task.digest, public_key)?,
                    sighash_type: task.sighash.ecdsa().ok_or(ChainError::Signature)?,
                }));
            }
            Spend::TaprootKey {
                merkle_root,
                output_key,
            } => (Tweaked::ToOutput(*merkle_root), output_key),
            Spend::TaprootLeaf(_) => (Tweaked::Not, &self.owner.x_only),
        };
        let signature = self
            .chain
            .sign_schnorr(key, tweaked, task.digest, public_key, source)?;
        Ok(Made::Taproot(taproot::Signature {
            signature,
            sighash_type: task.sighash.taproot().ok_or(ChainError::Signature)?,
        }))
    }

    /// Adds a signature to the PSBT and its parsed view; `None` only if the input does not exist.
    fn put(&self, unsigned: &mut Unsigned, task: &Task, made: &Made, bytes: Vec<u8>) -> Option<()> {
        let input = unsigned.view.inputs.get_mut(task.index)?;
        let key = match (made, &task.spend) {
            (Made::Ecdsa(signature), _) => {
                let public_key = PublicKey::new(self.owner.public_key.0);
                input.partial_sigs.insert(public_key, *signature);
                [&[IN_PARTIAL_SIG], public_key.to_bytes().as_slice()].concat()
            }
            (Made::Taproot(_), Spend::TaprootLeaf(leaf)) => [
                &[IN_TAP_SCRIPT_SIG],
                self.owner.x_only.serialize().as_slice(),
                leaf.as_ref(),
            ]
            .concat(),
            (Made::Taproot(signature), _) => {
                input.tap_key_sig = Some(*signature);
                vec![IN_TAP_KEY_SIG]
            }
        };
        unsigned
            .container
            .inputs
            .get_mut(task.index)?
            .set(key, bytes);
        if unsigned.is_v2 {
            mark(unsigned, task.sighash);
        }
        Some(())
    }

    fn answer(&self, unsigned: &Unsigned, signatures: Vec<Value>) -> Fields {
        let finalized = self
            .finalize
            .then(|| finalize::transaction(self.chain, &unsigned.view, &self.spent))
            .flatten();
        let (text, encoding) = match &finalized {
            Some(transaction) => (encode::serialize_hex(transaction), Encoding::Hex),
            None => (
                self.encoding.encode(&unsigned.container.to_bytes()),
                self.encoding,
            ),
        };
        let first = signatures
            .first()
            .and_then(|first| first.get("signature"))
            .cloned()
            .unwrap_or_default();
        let mut answer = Fields::new();
        for (name, value) in [
            ("signature", first),
            ("signatures", Value::Array(signatures)),
            ("signed_transaction", Value::String(text)),
            ("encoding", Value::String(encoding.name().to_owned())),
            ("finalized", Value::Bool(finalized.is_some())),
        ] {
            answer.insert(name.to_owned(), value);
        }
        answer
    }
}

/// Clears the flags for what the signature makes unmodifiable (BIP-370, "Signer").
fn mark(unsigned: &mut Unsigned, sighash: Sighash) {
    let global = &mut unsigned.container.global;
    let before = global
        .get(GLOBAL_TX_MODIFIABLE)
        .and_then(<[u8]>::first)
        .copied();
    let mut flags = before.unwrap_or_default();
    if !sighash.lets_others_pay() {
        flags &= !INPUTS_MODIFIABLE;
    }
    if !sighash.is_none() {
        flags &= !OUTPUTS_MODIFIABLE;
    }
    if sighash.is_single() {
        flags |= HAS_SINGLE;
    }
    if before.unwrap_or_default() != flags {
        global.set(vec![GLOBAL_TX_MODIFIABLE], vec![flags]);
    }
}
