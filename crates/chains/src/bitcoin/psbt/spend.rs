//! The ways in which the wallet's key spends an input.

use ::bitcoin::hashes::Hash;
use ::bitcoin::secp256k1::XOnlyPublicKey;
use ::bitcoin::sighash::{Prevouts, SighashCache};
use ::bitcoin::taproot::TapLeafHash;
use ::bitcoin::{ScriptBuf, TapNodeHash, Transaction, TxOut};

use super::sighash::Sighash;

/// What a signature by the wallet's key covers.
#[derive(Clone)]
pub(super) enum Spend {
    /// A pre-segwit output: the script code for the input.
    Legacy(ScriptBuf),
    /// P2WPKH, also inside P2SH: the witness program.
    KeyHash(ScriptBuf),
    /// P2WSH, also inside P2SH: the witness script.
    WitnessScript(ScriptBuf),
    /// Taproot key spend: the root of its scripts, if any, and the output key.
    TaprootKey {
        merkle_root: Option<TapNodeHash>,
        output_key: XOnlyPublicKey,
    },
    /// Taproot script spend.
    TaprootLeaf(TapLeafHash),
}

impl Spend {
    pub(super) const fn is_taproot(&self) -> bool {
        matches!(self, Self::TaprootKey { .. } | Self::TaprootLeaf(_))
    }

    /// The digest for a signature of this kind; `None` if the hash type does not apply or an output that it covers is unknown.
    pub(super) fn digest(
        &self,
        cache: &mut SighashCache<&Transaction>,
        index: usize,
        spent: &[Option<TxOut>],
        sighash: Sighash,
    ) -> Option<[u8; 32]> {
        let output = spent.get(index)?.as_ref()?;
        match self {
            Self::Legacy(script) => cache
                .legacy_signature_hash(index, script, sighash.ecdsa()?.to_u32())
                .map(|hash| hash.to_byte_array())
                .ok(),
            Self::KeyHash(script) => cache
                .p2wpkh_signature_hash(index, script, output.value, sighash.ecdsa()?)
                .map(|hash| hash.to_byte_array())
                .ok(),
            Self::WitnessScript(script) => cache
                .p2wsh_signature_hash(index, script, output.value, sighash.ecdsa()?)
                .map(|hash| hash.to_byte_array())
                .ok(),
            Self::TaprootKey { .. } => self.taproot(None, cache, index, spent, sighash),
            Self::TaprootLeaf(leaf) => self.taproot(Some(*leaf), cache, index, spent, sighash),
        }
    }

    fn taproot(
        &self,
        leaf: Option<TapLeafHash>,
        cache: &mut SighashCache<&Transaction>,
        index: usize,
        spent: &[Option<TxOut>],
        sighash: Sighash,
    ) -> Option<[u8; 32]> {
        let known: Option<Vec<&TxOut>>;
        let outputs = if sighash.lets_others_pay() {
            Prevouts::One(index, spent.get(index)?.as_ref()?)
        } else {
            known = spent.iter().map(Option::as_ref).collect();
            Prevouts::All(known.as_deref()?)
        };
        let sighash = sighash.taproot()?;
        let hash = match leaf {
            None => cache.taproot_key_spend_signature_hash(index, &outputs, sighash),
            Some(leaf) => cache.taproot_script_spend_signature_hash(index, &outputs, leaf, sighash),
        };
        hash.map(|hash| hash.to_byte_array()).ok()
    }
}
