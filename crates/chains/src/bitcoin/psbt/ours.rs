//! Which inputs are the wallet's: those whose output pays to its key, and those whose derivation fields name it.

use ::bitcoin::psbt::Input;
use ::bitcoin::taproot::{LeafVersion, TapLeafHash};
use ::bitcoin::{Script, ScriptBuf, TapNodeHash};

use super::super::{Bitcoin, Owner};
use super::spend::Spend;
use super::unsigned::Malformed;

/// Whether the derivation fields of an input have the key (BIP-174, BIP-371).
pub(super) fn names(owner: &Owner, input: &Input) -> bool {
    input.bip32_derivation.contains_key(&owner.public_key.0)
        || input.tap_key_origins.contains_key(&owner.x_only)
        || input.tap_internal_key == Some(owner.x_only)
}

/// What the key can sign of an input that spends this script; nothing when the input is somebody else's.
///
/// # Errors
/// When the fields name the key and contradict the script.
pub(super) fn spends(
    chain: &Bitcoin,
    owner: &Owner,
    input: &Input,
    script: &Script,
) -> Result<Vec<Spend>, Malformed> {
    if script.is_p2tr() {
        return taproot(chain, owner, input, script);
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

/// Scripts of several keys, of which one is ours.
fn by_script(owner: &Owner, input: &Input, script: &Script) -> Result<Option<Spend>, Malformed> {
    let redeem;
    let script = if script.is_p2sh() {
        redeem = input
            .redeem_script
            .as_ref()
            .ok_or("names the wallet's key in an input whose redeem script is missing")?;
        if redeem.to_p2sh() != *script {
            return Err("has a redeem script that is not that of its output");
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
            return Err("has a witness script that is not that of its output");
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

/// By the key if the output is made of it, otherwise by the scripts that name it.
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
            "names the wallet's key as the internal key of an output that is not made of it",
        );
    }
    let Some((leaves, _path)) = input.tap_key_origins.get(&owner.x_only) else {
        return Ok(Vec::new());
    };
    Ok(leaves
        .iter()
        .filter(|leaf| is_leaf_of(chain, owner, input, script, **leaf))
        .map(|leaf| Spend::TaprootLeaf(*leaf))
        .collect())
}

/// Whether the PSBT has a script with this hash that the output commits to and that has the key in it.
fn is_leaf_of(
    chain: &Bitcoin,
    owner: &Owner,
    input: &Input,
    script: &Script,
    hash: TapLeafHash,
) -> bool {
    let Some(output_key) = script
        .as_bytes()
        .get(2..)
        .and_then(|bytes| ::bitcoin::XOnlyPublicKey::from_slice(bytes).ok())
    else {
        return false;
    };
    input.tap_scripts.iter().any(|(control, (leaf, version))| {
        *version == LeafVersion::TapScript
            && TapLeafHash::from_script(leaf, *version) == hash
            && owner.is_in_leaf(leaf)
            && control.verify_taproot_commitment(&chain.curve, output_key, leaf)
    })
}
