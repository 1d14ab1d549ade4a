//! The vectors of BIP-174, BIP-371, BIP-370 and BIP-341. Left out are those of BIP-174 for roles that nobody has here: creator,
//! updater, and combiner of PSBTs with unknown fields; theirs are only read and written.

use ::bitcoin::consensus::encode;
use ::bitcoin::hashes::Hash;
use ::bitcoin::psbt::PsbtSighashType;
use ::bitcoin::sighash::SighashCache;
use ::bitcoin::taproot::{ControlBlock, LeafVersion, TapLeafHash};
use ::bitcoin::{Amount, Psbt, ScriptBuf, TapNodeHash, Transaction, TxOut, XOnlyPublicKey};
use serde_json::{Value, json};

use super::support::{
    decoded, of_bytes, prepare, request, signed_bytes, source, transaction, unsigned, with,
};
use crate::bitcoin::psbt::spend::Spend;
use crate::bitcoin::psbt::unsigned::Unsigned;
use crate::bitcoin::psbt::{sighash::Sighash, work};
use crate::bitcoin::tests::support::{bytes, chain, key, sign, small, text, vectors, wif};

/// BIP-174, "Test Vectors", what a signer with two keys makes of the PSBT, and a combiner of both: whoever signs after the
/// other makes the same.
#[test]
fn the_signers_of_bip_174_make_its_psbts() {
    let file = vectors(include_str!("../../vectors/bip174.json"));
    let add = |psbt: Vec<u8>, wallet: &Value, more: Value| {
        let answer = sign(&wif(wallet.as_str().unwrap()), &with(&psbt, more)).unwrap();
        assert_eq!(answer["signatures"].as_array().unwrap().len(), 1);
        assert_eq!(answer["finalized"], json!(false));
        signed_bytes(&answer)
    };
    let signers = file["signers"].as_array().unwrap();
    let start = || decoded(&file["psbt"]);
    for signer in signers {
        let keys = signer["keys"].as_array().unwrap();
        let signed = keys
            .iter()
            .fold(start(), |psbt, wallet| add(psbt, wallet, json!({})));
        assert_eq!(signed, decoded(&signer["signed"]));
    }
    // Scripts of several keys are not finalized here.
    let all = signers
        .iter()
        .flat_map(|signer| signer["keys"].as_array().unwrap())
        .fold(start(), |psbt, wallet| {
            add(psbt, wallet, json!({"finalize": true}))
        });
    // The combiner has the signatures of an input in another order, which means nothing.
    let view = |psbt: &[u8]| Unsigned::read(psbt).unwrap().view;
    assert_eq!(view(&all), view(&decoded(&file["combined"])));
}

/// The extractor's transaction comes of its final PSBT, and of none of those before.
#[test]
fn the_extractor_of_bip_174_makes_its_transaction() {
    let file = vectors(include_str!("../../vectors/bip174.json"));
    let extracted = transaction(&decoded(&file["finalized"])).unwrap();
    assert_eq!(encode::serialize_hex(&extracted), file["extracted"]);
    for name in ["updated", "psbt", "combined"] {
        assert_eq!(transaction(&decoded(&file[name])), None, "{name}");
    }
}

#[test]
fn the_invalid_psbts_of_bip_174_and_bip_371_are_refused() {
    for (file, count) in [
        (include_str!("../../vectors/bip174.json"), 19),
        (include_str!("../../vectors/bip371.json"), 11),
    ] {
        let file = vectors(file);
        let invalid = file["invalid"].as_array().unwrap();
        assert_eq!(invalid.len(), count);
        for case in invalid {
            let psbt = decoded(&case[1]);
            assert!(Unsigned::read(&psbt).is_err(), "{}", case[0]);
            let refused = sign(&small(1), &of_bytes(&psbt)).unwrap_err();
            assert_eq!(refused.param(), "btc_transaction.psbt", "{}", case[0]);
        }
    }
}

/// The lists of valid PSBTs, and BIP-174's that roles make and take.
#[test]
fn the_valid_psbts_of_bip_174_and_bip_371_are_read_and_written_as_they_were() {
    let bip_174 = vectors(include_str!("../../vectors/bip174.json"));
    let bip_371 = vectors(include_str!("../../vectors/bip371.json"));
    let listed = |file: &Value, count: usize| {
        let valid = file["valid"].as_array().unwrap().clone();
        assert_eq!(valid.len(), count);
        valid.into_iter().map(|case| case[1].clone())
    };
    let roles = ["created", "updated", "psbt", "combined", "finalized"].map(|name| &bip_174[name]);
    let unknown = bip_174["unknown"].as_array().unwrap();
    let all = listed(&bip_174, 10)
        .chain(listed(&bip_371, 6))
        .chain(roles.into_iter().chain(unknown).cloned());
    for case in all {
        let psbt = decoded(&case);
        let unsigned = Unsigned::read(&psbt).unwrap();
        assert!(!unsigned.is_v2);
        assert_eq!(unsigned.container.to_bytes(), psbt, "{case}");
    }
}

/// Whose public keys the BIPs give, those have something to sign, but for the one whose input is final already.
#[test]
fn the_valid_psbts_of_bip_174_and_bip_371_are_signed_by_their_owners() {
    let mut owners = 0;
    for (file, is_final) in [
        (include_str!("../../vectors/bip174.json"), Some(1)),
        (include_str!("../../vectors/bip371.json"), None),
    ] {
        let valid = vectors(file)["valid"].as_array().unwrap().clone();
        for (place, case) in valid.iter().enumerate() {
            for public_key in case[2].as_array().unwrap() {
                let public_key = bytes(public_key.as_str().unwrap());
                let prepared = prepare(&public_key, &of_bytes(&decoded(&case[1])));
                assert_eq!(prepared.is_ok(), is_final != Some(place), "{}", case[0]);
                owners += 1;
            }
        }
    }
    assert_eq!(owners, 20);
}

/// The signatures in the valid PSBTs fit the digests that are made here. Those by keys make a transaction.
#[test]
fn the_signatures_in_the_psbts_of_bip_174_and_bip_371_fit() {
    let bip_174 = vectors(include_str!("../../vectors/bip174.json"));
    let bip_371 = vectors(include_str!("../../vectors/bip371.json"));
    for case in [&bip_174["valid"][7], &bip_371["valid"][1]] {
        assert!(transaction(&decoded(&case[1])).is_some(), "{}", case[0]);
    }
    let view = Unsigned::read(&decoded(&bip_371["valid"][5][1]))
        .unwrap()
        .view;
    let spent = work::spent(&view).unwrap();
    let signatures = &view.inputs[0].tap_script_sigs;
    assert_eq!(signatures.len(), 3);
    for ((public_key, leaf), signature) in signatures {
        let number = PsbtSighashType::from(signature.sighash_type).to_u32();
        let sighash = Sighash::of_number(number).unwrap();
        let mut cache = SighashCache::new(&view.unsigned_tx);
        let digest = Spend::TaprootLeaf(*leaf).digest(&mut cache, 0, &spent, sighash);
        chain()
            .verify_schnorr(&signature.signature, digest.unwrap(), public_key)
            .unwrap();
    }
}

/// BIP-174, "Fails Signer checks", for the wallets whose input it is that fails. The key of the first is not in the BIP; the
/// one that owns the output which that input spends does not sign for another either.
#[test]
fn what_fails_the_checks_of_bip_174_is_not_signed() {
    let file = vectors(include_str!("../../vectors/bip174.json"));
    let not_signed = file["not_signed"].as_array().unwrap();
    assert_eq!(not_signed.len(), 4);
    for case in not_signed {
        for public_key in case[2].as_array().unwrap() {
            let psbt = of_bytes(&decoded(&case[1]));
            let refused = prepare(&bytes(public_key.as_str().unwrap()), &psbt).unwrap_err();
            assert_eq!(refused.param(), "btc_transaction.psbt", "{}", case[0]);
        }
    }
}

/// BIP-341, "scriptPubKey": every script of the trees, for the wallet whose key is in it. A leaf of another version than that of
/// BIP-342 is nobody's, as is a script without a key.
#[test]
fn the_leaves_of_bip_341_are_signed_for() {
    let file = vectors(include_str!("../../vectors/bip341.json"));
    let mut signed = 0;
    for output in file["outputs"].as_array().unwrap() {
        let script = ScriptBuf::from_bytes(bytes(output[2].as_str().unwrap()));
        for leaf in output[4].as_array().unwrap() {
            let part = |place: usize| bytes(leaf[place].as_str().unwrap());
            let version = u8::try_from(leaf[1].as_u64().unwrap()).unwrap();
            let version = LeafVersion::from_consensus(version).unwrap();
            let leaf = ScriptBuf::from_bytes(part(0));
            let hash = TapLeafHash::from_script(&leaf, version);
            assert_eq!(hash.to_byte_array().to_vec(), part(2));
            // A push of 32 bytes and OP_CHECKSIG; without one, a key that is in no script.
            let own = part(0).get(1..33).map(<[u8]>::to_vec);
            let named = own.clone().unwrap_or_else(|| bytes(GENERATOR));
            let public_key = [vec![2], named.clone()].concat();
            let named = XOnlyPublicKey::from_slice(&named).unwrap();
            let mut psbt = unsigned(std::slice::from_ref(&script));
            let control = ControlBlock::decode(&part(3)).unwrap();
            psbt.inputs[0].tap_scripts.insert(control, (leaf, version));
            psbt.inputs[0]
                .tap_key_origins
                .insert(named, (vec![hash], source()));
            let prepared = prepare(&public_key, &request(&psbt));
            assert_eq!(prepared.is_ok(), own.is_some(), "{hash}");
            signed += usize::from(own.is_some());
        }
    }
    assert_eq!(signed, 10);
}

const GENERATOR: &str = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

#[test]
fn the_invalid_psbts_of_bip_370_are_refused() {
    let file = vectors(include_str!("../../vectors/bip370.json"));
    let invalid = file["invalid"].as_array().unwrap();
    assert_eq!(invalid.len(), 21);
    for case in invalid {
        let psbt = bytes(case[1].as_str().unwrap());
        assert!(Unsigned::read(&psbt).is_err(), "{}", case[0]);
    }
}

#[test]
fn the_valid_psbts_of_bip_370_are_read_and_written_as_they_were() {
    let file = vectors(include_str!("../../vectors/bip370.json"));
    let valid = file["valid"].as_array().unwrap();
    assert_eq!(valid.len(), 14);
    for case in valid {
        let psbt = bytes(case[1].as_str().unwrap());
        let unsigned = Unsigned::read(&psbt).unwrap();
        assert!(unsigned.is_v2);
        assert_eq!(unsigned.view.inputs.len(), 1, "{}", case[0]);
        assert_eq!(unsigned.view.outputs.len(), 2, "{}", case[0]);
        assert_eq!(unsigned.container.to_bytes(), psbt, "{}", case[0]);
    }
}

#[test]
fn lock_times_are_those_of_bip_370() {
    let file = vectors(include_str!("../../vectors/bip370.json"));
    for case in file["lock_times"].as_array().unwrap() {
        let unsigned = Unsigned::read(&bytes(case[1].as_str().unwrap()));
        let found = unsigned
            .ok()
            .map(|read| read.view.unsigned_tx.lock_time.to_consensus_u32());
        let expected = case[0].as_u64().map(|time| u32::try_from(time).unwrap());
        assert_eq!(found, expected, "{}", case[1]);
    }
}

/// All inputs of the transaction of BIP-341, one wallet after the other, and at the end the transaction itself. Its P2PKH
/// input is final from the start: the transaction whose output it spends is not given.
#[test]
fn the_transaction_of_bip_341_is_signed_byte_by_byte() {
    let file = vectors(include_str!("../../vectors/bip341.json"));
    let signed: Transaction =
        encode::deserialize(&bytes(file["signed"].as_str().unwrap())).unwrap();
    let mut bare = signed.clone();
    for input in &mut bare.input {
        input.script_sig = ScriptBuf::new();
        input.witness.clear();
    }
    let mut psbt = Psbt::from_unsigned_tx(bare).unwrap();
    for (input, spent) in psbt
        .inputs
        .iter_mut()
        .zip(file["spent"].as_array().unwrap())
    {
        input.witness_utxo = Some(TxOut {
            value: Amount::from_sat(spent[1].as_u64().unwrap()),
            script_pubkey: ScriptBuf::from_bytes(bytes(spent[0].as_str().unwrap())),
        });
    }
    psbt.inputs[2].final_script_sig = Some(signed.input[2].script_sig.clone());
    let keys = file["keys"].as_array().unwrap();
    for entry in keys {
        let index = usize::try_from(entry[0].as_u64().unwrap()).unwrap();
        psbt.inputs[index].tap_merkle_root = entry[2]
            .as_str()
            .map(|root| TapNodeHash::from_slice(&bytes(root)).unwrap());
    }

    let mut current = psbt.serialize();
    for entry in keys {
        let listed = json!({"sign_inputs": [{"index": entry[0], "sighash": entry[3]}]});
        let wallet = key(entry[1].as_str().unwrap());
        let answer = sign(&wallet, &with(&current, listed)).unwrap();
        let index = usize::try_from(entry[0].as_u64().unwrap()).unwrap();
        assert_eq!(
            bytes(text(&answer, "signature")),
            signed.input[index].witness.to_vec()[0],
            "{index}"
        );
        current = signed_bytes(&answer);
    }
    let mut three = [0; 32];
    three[31] = 3;
    let last = key(&alloy_primitives::hex::encode(three));
    let answer = sign(&last, &with(&current, json!({"finalize": true}))).unwrap();
    assert_eq!(answer["finalized"], json!(true));
    assert_eq!(answer["encoding"], json!("hex"));
    assert_eq!(text(&answer, "signed_transaction"), file["signed"]);
}
