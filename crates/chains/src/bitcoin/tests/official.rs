//! The vectors of BIP-340 and BIP-341 for keys, signatures and addresses.

use ::bitcoin::hashes::Hash;
use ::bitcoin::key::TapTweak;
use ::bitcoin::secp256k1::XOnlyPublicKey;
use ::bitcoin::secp256k1::schnorr::Signature;
use ::bitcoin::{ScriptBuf, TapNodeHash};
use serde_json::Value;
use vestry_domain::Environment;
use vestry_domain::wallet::AddressForm;

use super::super::address;
use super::super::schnorr::Tweaked;
use super::support::{bytes, chain, key, vectors};
use crate::Chain;

/// BIP-340, `bip-0340/test-vectors.csv`, rows 0 to 14: those with a secret key are signed, and all are verified or refused.
/// Rows 15 to 18 have messages of other lengths than 32 bytes; here it is always a digest that is signed.
#[test]
fn signatures_are_made_taken_and_refused_as_in_bip_340() {
    let file = vectors(include_str!("../vectors/bip340.json"));
    let (mut made, mut taken, mut refused) = (0, 0, 0);
    for row in file["rows"].as_array().unwrap() {
        let part = |place: usize| row[place].as_str().map(bytes);
        let digest: [u8; 32] = part(4).unwrap().try_into().unwrap();
        let signature = part(5).unwrap();
        let public_key = XOnlyPublicKey::from_slice(&part(2).unwrap());
        if let Some(secret) = row[1].as_str() {
            let mut auxiliary = |buffer: &mut [u8]| buffer.copy_from_slice(&part(3).unwrap());
            let ours = chain()
                .sign_schnorr(
                    &key(secret),
                    Tweaked::Not,
                    digest,
                    &public_key.unwrap(),
                    &mut auxiliary,
                )
                .unwrap();
            assert_eq!(ours.serialize().to_vec(), signature, "{}", row[0]);
            made += 1;
        }
        // Two of the public keys are none.
        let holds = public_key.is_ok_and(|public_key| {
            let signature = Signature::from_slice(&signature).unwrap();
            chain()
                .verify_schnorr(&signature, digest, &public_key)
                .is_ok()
        });
        assert_eq!(row[6], Value::Bool(holds), "{}", row[0]);
        *(if holds { &mut taken } else { &mut refused }) += 1;
    }
    assert_eq!((made, taken, refused), (4, 5, 10));
}

/// BIP-341, `bip-0341/wallet-test-vectors.json`, "scriptPubKey". Wallets have the addresses without scripts.
#[test]
fn output_keys_and_addresses_are_those_of_bip_341() {
    let file = vectors(include_str!("../vectors/bip341.json"));
    let outputs = file["outputs"].as_array().unwrap();
    assert_eq!(outputs.len(), 7);
    for output in outputs {
        let internal = bytes(output[0].as_str().unwrap());
        let merkle_root = output[1]
            .as_str()
            .map(|root| TapNodeHash::from_slice(&bytes(root)).unwrap());
        let output_key = chain()
            .output_key(XOnlyPublicKey::from_slice(&internal).unwrap(), merkle_root)
            .unwrap();
        let script = ScriptBuf::new_p2tr_tweaked(output_key.dangerous_assume_tweaked());
        assert_eq!(script.to_bytes(), bytes(output[2].as_str().unwrap()));
        let expected = output[3].as_str().unwrap();
        let address = address::p2tr(output_key, Environment::Live);
        assert_eq!(address.to_string(), expected);
        let public_key = [vec![2], internal].concat();
        let of_wallet = chain()
            .address_in_form(&public_key, Environment::Live, AddressForm::Taproot)
            .unwrap();
        assert_eq!(of_wallet == expected, merkle_root.is_none());
        assert_eq!(
            chain().canonical_address(expected, Environment::Live),
            Ok(expected.to_owned())
        );
    }
}
