//! Selects the wallet's inputs: those whose output pays to its key, and those whose derivation fields name it.

use std::collections::BTreeSet;

use ::bitcoin::psbt::Input;
use ::bitcoin::taproot::{LeafVersion, TapLeafHash};
use ::bitcoin::{Script, ScriptBuf, TapNodeHash, XOnlyPublicKey};

use super::super::{Bitcoin, Owner};
use super::spend::Spend;
use super::unsigned::Malformed;

/// The maximum number of scripts signed per taproot output. Each costs a signature, and one is enough to spend the output.
const MAX_LEAVES: usize = 32;

/// Whether the derivation fields of an input contain the key (BIP-174, BIP-371).
pub(super) fn names(owner: &Owner, input: &Input) -> bool {
    input.bip32_derivation.contains_key(&owner.public_key.0)
        || input.tap_key_origins.contains_key(&owner.x_only)
        || input.tap_internal_key == Some(owner.x_only)
}

/// What the key can sign in an input that spends this script; nothing if the input is not the wallet's.
///
/// # Errors
/// If the fields name the key but contradict the script.
pub(super) fn spends(
    chain: &Bitcoin,
    owner: &Owner,
    input: &Input,
    script: &Script,
) -> Result<Vec<Spend>, Malformed> {
    if script.is_p2tr() {
        return taproot(chain, owner, input, script);
    }
    let is_of_key = [&owner.p2wpkh, &owner.p2sh_p2wpkh, &owner.p2pkh]
        .iter()
        .any(|own| own.as_script() == script);
    if is_of_key {
        agree(input, script)?;
    }
    let spend = if script == owner.p2wpkh.as_script() || script == owner.p2sh_p2wpkh.as_script() {
        Some(Spend::KeyHash(owner.p2wpkh.clone()))
    } else if script == owner.p2pkh.as_script() {
        Some(Spend::Legacy(script.to_owned()))
    } else if input.bip32_derivation.contains_key(&owner.public_key.0) {
        by_script(owner, input, script)?
    } else {
        None
    };
    Ok(spend.into_iter().collect())
}

/// The scripts given with an output must be its own (BIP-174, "Signer"), even if the output is spendable without them: other scripts mean
/// that the caller has another output in mind.
fn agree(input: &Input, script: &Script) -> Result<(), Malformed> {
    let redeem = input.redeem_script.as_deref();
    if redeem.is_some_and(|redeem| redeem.to_p2sh() != *script) {
        return Err("has a redeem script that does not match its output");
    }
    let program = redeem.unwrap_or(script);
    let witness = input.witness_script.as_deref();
    if witness.is_some_and(|witness| witness.to_p2wsh() != *program) {
        return Err("has a witness script that does not match its output");
    }
    Ok(())
}

/// Scripts of several keys that include ours.
fn by_script(owner: &Owner, input: &Input, script: &Script) -> Result<Option<Spend>, Malformed> {
    let redeem;
    let script = if script.is_p2sh() {
        redeem = input
            .redeem_script
            .as_ref()
            .ok_or("names the wallet's key in an input whose redeem script is missing")?;
        if redeem.to_p2sh() != *script {
            return Err("has a redeem script that does not match its output");
        }
        redeem.as_script()
    } else {
        script
    };
    if script.is_p2wsh() {
        let inner = input
            .witness_script
            .as_ref()
            .ok_or("names the wallet's key in an input whose witness script is missing")?;
        if inner.to_p2wsh() != *script {
            return Err("has a witness script that does not match its output");
        }
        return Ok(in_script(owner, inner).map(Spend::WitnessScript));
    }
    if script.is_witness_program() {
        return Ok(None);
    }
    Ok(in_script(owner, script).map(Spend::Legacy))
}

fn in_script(owner: &Owner, script: &Script) -> Option<ScriptBuf> {
    owner.is_in(script).then(|| script.to_owned())
}

/// Spends by the key if the output is derived from it, otherwise by the scripts that name it.
fn taproot(
    chain: &Bitcoin,
    owner: &Owner,
    input: &Input,
    script: &Script,
) -> Result<Vec<Spend>, Malformed> {
    let is_made_with = |merkle_root: Option<TapNodeHash>| {
        chain
            .output_key(owner.x_only, merkle_root)
            .filter(|key| script.as_bytes().get(2..) == Some(key.serialize().as_slice()))
            .map(|output_key| Spend::TaprootKey {
                merkle_root,
                output_key,
            })
    };
    if let Some(spend) = is_made_with(input.tap_merkle_root) {
        return Ok(vec![spend]);
    }
    if input.tap_internal_key == Some(owner.x_only) {
        return Err(
            "names the wallet's key as the internal key of an output that is not derived from it",
        );
    }
    match input.tap_key_origins.get(&owner.x_only) {
        Some((leaves, _path)) => by_leaves(chain, owner, input, script, leaves),
        None => Ok(Vec::new()),
    }
}

/// The named leaves whose script is in the PSBT, is committed to by the output and contains the key.
fn by_leaves(
    chain: &Bitcoin,
    owner: &Owner,
    input: &Input,
    script: &Script,
    named: &[TapLeafHash],
) -> Result<Vec<Spend>, Malformed> {
    let output_key = script
        .as_bytes()
        .get(2..)
        .and_then(|bytes| XOnlyPublicKey::from_slice(bytes).ok())
        .ok_or("spends a taproot output with an invalid key")?;
    let named: BTreeSet<TapLeafHash> = named.iter().copied().collect();
    let mut leaves = BTreeSet::new();
    for (control, (leaf, version)) in &input.tap_scripts {
        let hash = TapLeafHash::from_script(leaf, *version);
        let is_ours = *version == LeafVersion::TapScript
            && named.contains(&hash)
            && owner.is_in_leaf(leaf)
            && control.verify_taproot_commitment(&chain.curve, output_key, leaf);
        if is_ours && leaves.insert(hash) && leaves.len() > MAX_LEAVES {
            return Err("names the wallet's key in more than 32 scripts of one output");
        }
    }
    Ok(leaves.into_iter().map(Spend::TaprootLeaf).collect())
}
