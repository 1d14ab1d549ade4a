//! The vectors of BIP-322 as PSBTs: what it has signed is a transaction, `to_sign`, whose only input spends `to_spend`. So they
//! are vectors for every kind of output, and for several keys. "proof_of_funds" is left out, which nobody makes here.

use ::bitcoin::consensus::encode;
use ::bitcoin::script::Instruction;
use ::bitcoin::secp256k1::Message;
use ::bitcoin::sighash::SighashCache;
use ::bitcoin::taproot::{ControlBlock, LeafVersion, TapLeafHash};
use ::bitcoin::{
    Address, Network, Psbt, PublicKey, ScriptBuf, Transaction, TxOut, XOnlyPublicKey, ecdsa,
    taproot,
};
use alloy_primitives::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::finalize;
use super::super::sighash::Sighash;
use super::super::spend::Spend;
use super::support::{public_key, request, source, with};
use crate::PrivateKey;
use crate::bitcoin::bip322;
use crate::bitcoin::tests::support::{bytes, chain, sign, vectors, wif};

/// An entry of the lists "simple" and "full".
struct Entry(Value);

impl Entry {
    fn all(list: &str) -> Vec<Self> {
        let file = vectors(include_str!("../../vectors/bip322.json"));
        let entries = file[list].as_array().unwrap();
        entries.iter().cloned().map(Self).collect()
    }

    fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap()
    }

    fn script(&self) -> ScriptBuf {
        ScriptBuf::from_bytes(bytes(self.text("script")))
    }

    fn keys(&self) -> Vec<PrivateKey> {
        let keys = self.0["keys"].as_array().unwrap();
        keys.iter().map(|key| wif(key.as_str().unwrap())).collect()
    }

    fn to_spend(&self) -> Transaction {
        bip322::to_spend(
            &script_of(self.text("address")),
            self.text("message").as_bytes(),
        )
    }

    /// The signed `to_sign`: "full" signatures are one, "simple" ones are its witness.
    fn to_sign(&self, to_spend: &Transaction) -> Transaction {
        let (form, text) = self.text("signature").split_at(3);
        let signature = STANDARD.decode(text).unwrap();
        match form {
            "ful" => encode::deserialize(&signature).unwrap(),
            "smp" => {
                let mut to_sign = bip322::to_sign(to_spend);
                to_sign.input[0].witness = encode::deserialize(&signature).unwrap();
                to_sign
            }
            _ => panic!("{form}"),
        }
    }

    /// `to_sign` before it is signed, with the fields that name the keys.
    fn psbt(&self) -> Psbt {
        let to_spend = self.to_spend();
        let signed = self.to_sign(&to_spend);
        let mut psbt = bare(&signed);
        let input = &mut psbt.inputs[0];
        input.non_witness_utxo = Some(to_spend);
        match self.text("type") {
            "p2sh-multisig-2of2" => input.redeem_script = Some(self.script()),
            "p2sh-p2wsh-multisig-2of2" => {
                input.redeem_script = Some(self.script().to_p2wsh());
                input.witness_script = Some(self.script());
            }
            kind if kind.starts_with("p2wsh") => input.witness_script = Some(self.script()),
            "p2tr-time-lock" => {
                let control = signed.input[0].witness.last().unwrap();
                let control = ControlBlock::decode(control).unwrap();
                let leaf = (self.script(), LeafVersion::TapScript);
                let hash = TapLeafHash::from_script(&leaf.0, leaf.1);
                input.tap_scripts.insert(control, leaf);
                for key in self.keys() {
                    let key = XOnlyPublicKey::from(public_key(&key).0);
                    input.tap_key_origins.insert(key, (vec![hash], source()));
                }
            }
            _ => {}
        }
        for key in self.keys() {
            input.bip32_derivation.insert(public_key(&key).0, source());
        }
        psbt
    }

    /// Whether the signature is one of an address for a message, as far as that is looked at here: whatever is finalized, and
    /// P2WSH.
    fn holds(&self, address: &str, message: &str) -> bool {
        let script = script_of(address);
        let to_spend = bip322::to_spend(&script, message.as_bytes());
        let signed = self.to_sign(&to_spend);
        if signed.input[0].previous_output.txid != to_spend.compute_txid() {
            return false;
        }
        if script.is_p2wsh() {
            return scripts_hold(&signed, &to_spend.output[0]);
        }
        let mut psbt = bare(&signed);
        let items = items(&signed);
        match &items[..] {
            [signature] => {
                psbt.inputs[0].tap_key_sig =
                    Some(taproot::Signature::from_slice(signature).unwrap());
            }
            [signature, key, ..] => {
                let signature = ecdsa::Signature::from_slice(signature).unwrap();
                let key = PublicKey::from_slice(key).unwrap();
                psbt.inputs[0].partial_sigs.insert(key, signature);
            }
            [] => return false,
        }
        let spent = [Some(to_spend.output[0].clone())];
        finalize::transaction(chain(), &psbt, &spent).is_some_and(|made| made == signed)
    }
}

fn script_of(address: &str) -> ScriptBuf {
    let unchecked: Address<_> = address.parse().unwrap();
    unchecked
        .require_network(Network::Bitcoin)
        .unwrap()
        .script_pubkey()
}

fn bare(signed: &Transaction) -> Psbt {
    let mut unsigned = signed.clone();
    unsigned.input[0].script_sig = ScriptBuf::new();
    unsigned.input[0].witness.clear();
    Psbt::from_unsigned_tx(unsigned).unwrap()
}

/// What the only input pushes: its witness, or where that is empty its script.
fn items(signed: &Transaction) -> Vec<Vec<u8>> {
    let input = &signed.input[0];
    if input.witness.is_empty() {
        pushes(&input.script_sig)
    } else {
        input.witness.to_vec()
    }
}

fn pushes(script: &ScriptBuf) -> Vec<Vec<u8>> {
    let pushed = |instruction| match instruction {
        Instruction::PushBytes(bytes) => Some(bytes.as_bytes().to_vec()),
        Instruction::Op(_) => None,
    };
    script
        .instructions()
        .filter_map(|one| pushed(one.unwrap()))
        .collect()
}

/// DER begins with 0x30, which begins neither a key nor one of these scripts.
fn der(items: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let is_der = |item: &Vec<u8>| item.first() == Some(&0x30);
    items.into_iter().filter(is_der).collect()
}

/// Every signature in a witness of P2WSH is one of a key in its script, which is that of the output.
fn scripts_hold(signed: &Transaction, spent: &TxOut) -> bool {
    let items = items(signed);
    let script = ScriptBuf::from_bytes(items.last().unwrap().clone());
    let keys = pushes(&script);
    let signatures = der(items);
    let digest = Spend::WitnessScript(script.clone())
        .digest(
            &mut SighashCache::new(signed),
            0,
            &[Some(spent.clone())],
            Sighash::ALL,
        )
        .unwrap();
    let fits = |signature: &Vec<u8>| {
        let signature = ecdsa::Signature::from_slice(signature).unwrap().signature;
        keys.iter()
            .filter_map(|key| ::bitcoin::secp256k1::PublicKey::from_slice(key).ok())
            .any(|key| {
                chain()
                    .verify_ecdsa(&Message::from_digest(digest), &signature, &key)
                    .is_ok()
            })
    };
    script.to_p2wsh() == spent.script_pubkey
        && !signatures.is_empty()
        && signatures.iter().all(fits)
}

/// All signatures of ECDSA, byte by byte: P2PKH, P2WPKH, the same inside P2SH, scripts of several keys in P2SH, P2WSH and
/// both, and one with a lock time.
#[test]
fn signatures_of_every_kind_of_address_are_those_of_bip_322() {
    let mut made = 0;
    for entry in ["simple", "full"].into_iter().flat_map(Entry::all) {
        let signed = entry.to_sign(&entry.to_spend());
        if entry.text("type").starts_with("p2tr") {
            continue;
        }
        let ours: Vec<Vec<u8>> = entry
            .keys()
            .iter()
            .map(|key| {
                let answer = sign(key, &request(&entry.psbt())).unwrap();
                bytes(answer["signature"].as_str().unwrap())
            })
            .collect();
        made += ours.len();
        assert_eq!(ours, der(items(&signed)), "{}", entry.text("type"));
    }
    assert_eq!(made, 19);
}

/// Those of taproot differ by their auxiliary randomness, and are verified: by the key, and by a script with a lock time.
#[test]
fn signatures_of_taproot_in_bip_322_fit_the_digests() {
    let mut verified = 0;
    for entry in ["simple", "full"].into_iter().flat_map(Entry::all) {
        if !entry.text("type").starts_with("p2tr") {
            continue;
        }
        let (to_spend, key) = (entry.to_spend(), &entry.keys()[0]);
        let internal = XOnlyPublicKey::from(public_key(key).0);
        let (spend, public_key) = if entry.script().is_empty() {
            let output_key = chain().output_key(internal, None).unwrap();
            let merkle_root = None;
            let spend = Spend::TaprootKey {
                merkle_root,
                output_key,
            };
            (spend, output_key)
        } else {
            let leaf = TapLeafHash::from_script(&entry.script(), LeafVersion::TapScript);
            (Spend::TaprootLeaf(leaf), internal)
        };
        let signed = entry.to_sign(&to_spend);
        let signature = taproot::Signature::from_slice(&items(&signed)[0]).unwrap();
        let spent = [Some(to_spend.output[0].clone())];
        let mut cache = SighashCache::new(&signed);
        let digest = spend.digest(&mut cache, 0, &spent, Sighash::DEFAULT);
        chain()
            .verify_schnorr(&signature.signature, digest.unwrap(), &public_key)
            .unwrap();
        // Ours is verified before it is answered.
        assert!(sign(key, &request(&entry.psbt())).is_ok());
        verified += 1;
    }
    assert_eq!(verified, 3);
}

/// Where one key is enough, the signature is the whole transaction.
#[test]
fn full_signatures_of_bip_322_are_made_as_transactions() {
    let mut equal = Vec::new();
    for entry in Entry::all("full") {
        let finalize = with(&entry.psbt().serialize(), json!({"finalize": true}));
        for key in entry.keys() {
            let answer = sign(&key, &finalize).unwrap();
            assert_eq!(answer["finalized"], json!(entry.script().is_empty()));
            let signed = encode::serialize(&entry.to_sign(&entry.to_spend()));
            if answer["signed_transaction"] == hex::encode(signed) {
                equal.push(entry.text("type").to_owned());
            }
        }
    }
    // That of taproot differs by its auxiliary randomness.
    assert_eq!(equal, ["p2pkh", "p2wpkh", "p2sh-p2wpkh"]);
}

/// "error": the same signatures for another message, and for another address.
#[test]
fn wrong_signatures_of_bip_322_do_not_hold() {
    let file = vectors(include_str!("../../vectors/bip322.json"));
    let errors = file["error"].as_array().unwrap();
    assert_eq!(errors.len(), 14);
    for error in errors {
        let place = usize::try_from(error[1].as_u64().unwrap()).unwrap();
        let entry = &Entry::all(error[0].as_str().unwrap())[place];
        let (address, message) = (entry.text("address"), entry.text("message"));
        if entry.script().is_empty() || script_of(address).is_p2wsh() {
            assert!(entry.holds(address, message), "{error}");
        }
        assert!(!entry.holds(address, error[2].as_str().unwrap()), "{error}");
        assert!(!entry.holds(error[3].as_str().unwrap(), message), "{error}");
    }
}
