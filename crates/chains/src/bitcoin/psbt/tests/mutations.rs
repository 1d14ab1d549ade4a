//! Unintended bytes: rejected, or signed as what they then mean, without a panic.

use ::bitcoin::secp256k1::{Message, Secp256k1};
use ::bitcoin::sighash::{EcdsaSighashType, SighashCache};
use ::bitcoin::{PublicKey, ecdsa};
use alloy_primitives::hex;
use proptest::prelude::*;
use serde_json::{Value, json};
use vestry_domain::signing::{Fields, SigningRequest};

use super::super::super::tests::support::{method, sign, small};
use super::super::unsigned::Unsigned;
use super::super::work;
use super::support::{as_v2, of_bytes, p2wpkh, public_key, signed_bytes, unsigned};

fn small_psbts() -> [Vec<u8>; 2] {
    let mut psbt = unsigned(&[p2wpkh(&small(1))]);
    psbt.inputs[0].non_witness_utxo = None;
    [psbt.serialize(), as_v2(&psbt, None)]
}

#[test]
fn every_shortened_psbt_and_every_longer_one_is_refused() {
    for psbt in small_psbts() {
        assert!(sign(&small(1), &of_bytes(&psbt)).is_ok());
        for length in 0..psbt.len() {
            let refused = sign(&small(1), &of_bytes(&psbt[..length])).unwrap_err();
            assert_eq!(refused.param(), "btc_transaction.psbt", "{length}");
        }
        for byte in [0, 1, 0xff] {
            let longer = [psbt.as_slice(), &[byte]].concat();
            let refused = sign(&small(1), &of_bytes(&longer)).unwrap_err();
            assert_eq!(refused.param(), "btc_transaction.psbt");
        }
    }
}

/// A changed byte either makes the PSBT unreadable or another PSBT, of which the signature is.
#[test]
fn every_flipped_bit_is_refused_or_signed_as_what_it_says() {
    for psbt in small_psbts() {
        let before = sign(&small(1), &of_bytes(&psbt)).unwrap();
        let mut signed = 0;
        for bit in 0..psbt.len() * 8 {
            let mut altered = psbt.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            let Ok(answer) = sign(&small(1), &of_bytes(&altered)) else {
                continue;
            };
            signed += 1;
            assert!(fits(&altered, &answer), "bit {bit}");
            assert!(fits(&signed_bytes(&answer), &answer), "bit {bit}");
            assert_ne!(answer["signed_transaction"], before["signed_transaction"]);
        }
        assert!(signed > 100, "{signed}");
    }
}

/// Whether the signature is by our key over the only input of this PSBT, with a digest recomputed from the PSBT.
fn fits(psbt: &[u8], answer: &Fields) -> bool {
    let view = Unsigned::read(psbt).unwrap().view;
    let spent = work::spent(&view).unwrap()[0].clone().unwrap();
    let digest = SighashCache::new(&view.unsigned_tx)
        .p2wpkh_signature_hash(0, &spent.script_pubkey, spent.value, EcdsaSighashType::All)
        .unwrap();
    let signature = hex::decode(answer["signature"].as_str().unwrap()).unwrap();
    let signature = ecdsa::Signature::from_slice(&signature).unwrap();
    let key = PublicKey::new(public_key(&small(1)).0);
    signature.sighash_type == EcdsaSighashType::All
        && Secp256k1::verification_only()
            .verify_ecdsa(&Message::from(digest), &signature.signature, &key.inner)
            .is_ok()
}

/// JSON of any shape.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name = prop_oneof![
            Just("psbt".to_owned()),
            Just("encoding".to_owned()),
            Just("sign_inputs".to_owned()),
            Just("index".to_owned()),
            Just("sighash".to_owned()),
            Just("finalize".to_owned()),
            Just("message".to_owned()),
            Just("format".to_owned()),
            ".{0,5}",
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _refused = sign(&small(1), &of_bytes(&bytes));
        let framed = [b"psbt\xff".as_slice(), &bytes].concat();
        let _refused = sign(&small(1), &of_bytes(&framed));
    }

    /// Pieces of good PSBTs in any order get further than noise.
    #[test]
    fn shuffled_pieces_never_panic(
        which in 0..2_usize,
        cuts in proptest::collection::vec((0..300_usize, 0..60_usize), 1..8),
    ) {
        let good = &small_psbts()[which];
        let mut bytes = good.clone();
        for (from, length) in cuts {
            let from = from.min(good.len());
            let to = (from + length).min(good.len());
            let at = (from * 7 + length) % (bytes.len() + 1);
            bytes.splice(at..at, good[from..to].iter().copied());
        }
        let _result = sign(&small(1), &of_bytes(&bytes));
    }

    /// Of every kind of input, in both versions.
    #[test]
    fn altered_psbts_of_embit_never_panic(
        which in 0..40_usize,
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let (key, mut psbt) = super::differential::of_embit(which);
        for (place, byte) in edits {
            let place = place.index(psbt.len());
            psbt[place] = byte;
        }
        let _result = sign(&key, &super::support::with(&psbt, json!({"finalize": true})));
    }

    #[test]
    fn arbitrary_json_never_panics(value in any_json()) {
        let _refused = sign(&small(1), &SigningRequest::Transaction(value.clone()));
        let Value::Object(_) = value else { return Ok(()) };
        for name in ["btc_signPsbt", "btc_signMessage"] {
            let _result = sign(&small(1), &method(name, value.clone()));
        }
    }

    #[test]
    fn arbitrary_choices_never_panic(index in any::<u64>(), sighash in any_json(), finalize in any::<bool>()) {
        let psbt = super::support::base64(&small_psbts()[0]);
        let value = json!({"psbt": psbt, "finalize": finalize, "sign_inputs": [{"index": index, "sighash": sighash}]});
        let _result = sign(&small(1), &SigningRequest::Transaction(value));
    }
}
