//! Rejected requests, and the fields named in the errors.

use ::bitcoin::{Amount, Psbt, PublicKey, ScriptBuf};
use alloy_primitives::hex;
use serde_json::{Value, json};
use vestry_domain::signing::{SigningRefused, SigningRequest};

use super::support::{as_v2, base64, of_bytes, p2wpkh, public_key, request, unsigned, with};
use crate::bitcoin::tests::support::{Failed, method, sign, small};

fn good() -> Psbt {
    unsigned(&[p2wpkh(&small(1)), p2wpkh(&small(2))])
}

fn refused(request: &SigningRequest) -> Failed {
    sign(&small(1), request).unwrap_err()
}

/// `signInputs` in the place of `sign_inputs` would sign every input.
#[test]
fn ch_11_an_unknown_member_is_refused_by_name() {
    let psbt = good().serialize();
    for (more, name) in [
        (json!({"signInputs": [{"index": 0}]}), "signInputs"),
        (json!({"Finalize": true}), "Finalize"),
        (json!({"broadcast": false}), "broadcast"),
        (
            json!({"sign_inputs": [{"index": 0, "sighash_type": 1}]}),
            "sign_inputs[0].sighash_type",
        ),
    ] {
        let refused = refused(&with(&psbt, more.clone()));
        assert_eq!(refused.param(), format!("btc_transaction.{name}"));
        let mut params = more;
        params["psbt"] = json!(base64(&psbt));
        let refused = self::refused(&method("btc_signPsbt", params));
        assert_eq!(refused.param(), format!("params.{name}"));
    }
    sign(&small(1), &with(&psbt, json!({"signInputs": null}))).unwrap();
}

/// BIP-174, "Signer": a redeem script and a witness script must be those of the output, also where the key alone spends it.
#[test]
fn scripts_that_contradict_the_output_are_refused() {
    let (ours, other) = (p2wpkh(&small(1)), p2wpkh(&small(2)));
    let signs = |script: &ScriptBuf, redeem: Option<&ScriptBuf>, witness: Option<&ScriptBuf>| {
        let mut psbt = unsigned(std::slice::from_ref(script));
        psbt.inputs[0].redeem_script = redeem.cloned();
        psbt.inputs[0].witness_script = witness.cloned();
        let both = [psbt.serialize(), as_v2_with(&psbt, redeem, witness)];
        both.map(|bytes| sign(&small(1), &of_bytes(&bytes)).map(drop))
    };
    let (nested, legacy) = (
        ours.to_p2sh(),
        ScriptBuf::new_p2pkh(&PublicKey::new(public_key(&small(1)).0).pubkey_hash()),
    );
    for outcome in signs(&nested, Some(&ours), None) {
        outcome.unwrap();
    }
    for (script, redeem, witness) in [
        (&nested, Some(&other), None),
        (&nested, Some(&ours), Some(&other)),
        (&nested, None, Some(&ours)),
        (&ours, Some(&ours), None),
        (&ours, None, Some(&ours)),
        (&legacy, Some(&legacy), None),
        (&legacy, None, Some(&other)),
    ] {
        for outcome in signs(script, redeem, witness) {
            let refused = outcome.unwrap_err();
            assert_eq!(
                refused.param(),
                "btc_transaction.psbt",
                "{redeem:?} {witness:?}"
            );
        }
    }
}

/// Version 2 with the scripts of its only input.
fn as_v2_with(psbt: &Psbt, redeem: Option<&ScriptBuf>, witness: Option<&ScriptBuf>) -> Vec<u8> {
    let mut bytes = as_v2(psbt, None);
    let mark = [&[1, 0xe1, 11][..], b"of an input"].concat();
    let at = bytes
        .windows(mark.len())
        .position(|window| window == mark)
        .unwrap();
    let record = |kind: u8, script: &ScriptBuf| {
        [
            &[1, kind, u8::try_from(script.len()).unwrap()],
            script.as_bytes(),
        ]
        .concat()
    };
    let scripts = redeem.map(|script| record(0x04, script)).into_iter();
    let scripts = scripts.chain(witness.map(|script| record(0x05, script)));
    let scripts: Vec<u8> = scripts.flatten().collect();
    bytes.splice(at..at, scripts);
    bytes
}

#[test]
fn requests_that_are_malformed_name_the_field() {
    let psbt = base64(&good().serialize());
    let long = "A".repeat(2 * 1024 * 1024);
    let long_hex = "0".repeat(4 * 1024 * 1024);
    let many: Vec<Value> = (0..3000).map(|index| json!({"index": index})).collect();
    let other_base64 = psbt.replace('+', "-").replace('/', "_");
    for (fields, param) in [
        (json!({}), "psbt"),
        (json!({"psbt": null}), "psbt"),
        (json!({"psbt": 1}), "psbt"),
        (json!({"psbt": ""}), "psbt"),
        (json!({"psbt": "cHNidP8="}), "psbt"),
        (json!({"psbt": format!("{psbt}AA==")}), "psbt"),
        (json!({"psbt": format!(" {psbt}")}), "psbt"),
        (json!({"psbt": other_base64, "encoding": "hex"}), "psbt"),
        (json!({"psbt": psbt, "encoding": "hex"}), "psbt"),
        (json!({"psbt": long}), "psbt"),
        (json!({"psbt": long_hex, "encoding": "hex"}), "psbt"),
        (json!({"psbt": psbt, "encoding": "base58"}), "encoding"),
        (json!({"psbt": psbt, "encoding": 64}), "encoding"),
        (json!({"psbt": psbt, "finalize": "yes"}), "finalize"),
        (json!({"psbt": psbt, "finalize": 1}), "finalize"),
        (json!({"psbt": psbt, "sign_inputs": {}}), "sign_inputs"),
        (json!({"psbt": psbt, "sign_inputs": []}), "sign_inputs"),
        (json!({"psbt": psbt, "sign_inputs": many}), "sign_inputs"),
        (json!({"psbt": psbt, "sign_inputs": [0]}), "sign_inputs[0]"),
        (
            json!({"psbt": psbt, "sign_inputs": [{}]}),
            "sign_inputs[0].index",
        ),
        (
            json!({"psbt": psbt, "sign_inputs": [{"index": -1}]}),
            "sign_inputs[0].index",
        ),
        (
            json!({"psbt": psbt, "sign_inputs": [{"index": 0.5}]}),
            "sign_inputs[0].index",
        ),
        (
            json!({"psbt": psbt, "sign_inputs": [{"index": "0"}]}),
            "sign_inputs[0].index",
        ),
        (
            json!({"psbt": psbt, "sign_inputs": [{"index": 2}]}),
            "sign_inputs[0].index",
        ),
        (
            json!({"psbt": psbt, "sign_inputs": [{"index": 1}]}),
            "sign_inputs[0].index",
        ),
        (
            json!({"psbt": psbt, "sign_inputs": [{"index": 0}, {"index": 0}]}),
            "sign_inputs[1].index",
        ),
        (
            json!({"psbt": psbt, "sign_inputs": [{"index": 0, "sighash": "all"}]}),
            "sign_inputs[0].sighash",
        ),
        (
            json!({"psbt": psbt, "sign_inputs": [{"index": 0, "sighash": 4}]}),
            "sign_inputs[0].sighash",
        ),
        (
            json!({"psbt": psbt, "sign_inputs": [{"index": 0, "sighash": 257}]}),
            "sign_inputs[0].sighash",
        ),
        (
            json!({"psbt": psbt, "sign_inputs": [{"index": 0, "sighash": []}]}),
            "sign_inputs[0].sighash",
        ),
        // There is no DEFAULT before taproot.
        (
            json!({"psbt": psbt, "sign_inputs": [{"index": 0, "sighash": 0}]}),
            "sign_inputs[0].sighash",
        ),
    ] {
        let by_call = refused(&SigningRequest::Transaction(fields.clone()));
        assert_eq!(by_call.param(), format!("btc_transaction.{param}"));
        let by_method = refused(&method("btc_signPsbt", fields));
        assert_eq!(by_method.param(), format!("params.{param}"));
    }
    for value in [json!(null), json!([]), json!("psbt"), json!(1), json!(true)] {
        let refused = refused(&SigningRequest::Transaction(value));
        assert_eq!(refused.param(), "btc_transaction");
    }
}

/// Every way to be refused (BTC-4), each in a PSBT that is fine but for that.
#[test]
fn psbts_that_must_not_be_signed_are_refused() {
    type Spoil = fn(&mut Psbt);
    let spoils: [(&str, Spoil); 14] = [
        ("no output", |psbt| {
            psbt.inputs[0].witness_utxo = None;
            psbt.inputs[0].non_witness_utxo = None;
        }),
        ("no output, though the fields name the key", |psbt| {
            psbt.inputs[0].witness_utxo = None;
            psbt.inputs[0].non_witness_utxo = None;
            psbt.inputs[0]
                .bip32_derivation
                .insert(public_key(&small(1)).0, Default::default());
        }),
        ("another transaction", |psbt| {
            let whole = psbt.inputs[0].non_witness_utxo.as_mut().unwrap();
            whole.output[1].value = Amount::from_sat(100_001);
        }),
        ("another transaction in another party's input", |psbt| {
            psbt.inputs[1].non_witness_utxo = psbt.inputs[0].non_witness_utxo.clone();
        }),
        ("outputs that differ", |psbt| {
            psbt.inputs[0].witness_utxo.as_mut().unwrap().value = Amount::from_sat(5);
        }),
        ("an output that is not there", |psbt| {
            psbt.unsigned_tx.input[0].previous_output.vout = 2;
        }),
        ("NONE without consent", |psbt| {
            psbt.inputs[0].sighash_type = Some(::bitcoin::EcdsaSighashType::None.into());
        }),
        ("SINGLE without consent", |psbt| {
            psbt.inputs[0].sighash_type = Some(::bitcoin::EcdsaSighashType::Single.into());
        }),
        ("ANYONECANPAY without consent", |psbt| {
            let sighash = ::bitcoin::EcdsaSighashType::AllPlusAnyoneCanPay;
            psbt.inputs[0].sighash_type = Some(sighash.into());
        }),
        ("an unknown type", |psbt| {
            psbt.inputs[0].sighash_type = Some(::bitcoin::psbt::PsbtSighashType::from_u32(77));
        }),
        ("the same output twice", |psbt| {
            psbt.unsigned_tx.input[1] = psbt.unsigned_tx.input[0].clone();
            psbt.inputs[1] = psbt.inputs[0].clone();
        }),
        ("more out than in", |psbt| {
            psbt.unsigned_tx.output[0].value = Amount::from_sat(110_001);
        }),
        ("more than there is", |psbt| {
            psbt.unsigned_tx.output[0].value = Amount::from_sat(u64::MAX);
        }),
        ("final already", |psbt| {
            psbt.inputs[0].final_script_witness = Some(::bitcoin::Witness::new());
        }),
    ];
    assert!(sign(&small(1), &request(&good())).is_ok());
    for (what, spoil) in spoils {
        let mut psbt = good();
        spoil(&mut psbt);
        let refused = refused(&request(&psbt));
        assert_eq!(refused.param(), "btc_transaction.psbt", "{what}");
    }
    // Nothing of ours.
    let theirs = sign(&small(3), &request(&good())).unwrap_err();
    assert_eq!(theirs.param(), "btc_transaction.psbt");
    let empty = unsigned(&[]);
    assert_eq!(refused(&request(&empty)).param(), "btc_transaction.psbt");
}

#[test]
fn a_type_that_was_agreed_to_is_that_of_the_input() {
    let mut psbt = good();
    psbt.inputs[0].sighash_type = Some(::bitcoin::EcdsaSighashType::None.into());
    let listed = |sighash: &str| {
        with(
            &psbt.serialize(),
            json!({"sign_inputs": [{"index": 0, "sighash": sighash}]}),
        )
    };
    assert!(sign(&small(1), &listed("NONE")).is_ok());
    assert_eq!(
        refused(&listed("ALL")).param(),
        "btc_transaction.sign_inputs[0].sighash"
    );
}

/// Before taproot, a SINGLE without a matching output signs the number one, which anyone can use.
#[test]
fn single_needs_an_output_beside_it() {
    let mut psbt = unsigned(&[p2wpkh(&small(1)), p2wpkh(&small(1))]);
    psbt.unsigned_tx.output.pop();
    psbt.outputs.pop();
    let listed = |index: usize| {
        let listed = json!({"sign_inputs": [{"index": index, "sighash": "SINGLE"}]});
        with(&psbt.serialize(), listed)
    };
    assert!(sign(&small(1), &listed(0)).is_ok());
    assert_eq!(
        refused(&listed(1)).param(),
        "btc_transaction.sign_inputs[0].sighash"
    );
}

#[test]
fn inputs_from_before_segregated_witness_need_their_transaction() {
    let script = ScriptBuf::new_p2pkh(&PublicKey::new(public_key(&small(1)).0).pubkey_hash());
    let mut psbt = unsigned(&[script]);
    assert!(sign(&small(1), &request(&psbt)).is_ok());
    psbt.inputs[0].non_witness_utxo = None;
    assert_eq!(refused(&request(&psbt)).param(), "btc_transaction.psbt");
}

#[test]
fn taproot_needs_the_outputs_of_all_inputs() {
    let ours = public_key(&small(1)).0;
    let script = ScriptBuf::new_p2tr(
        &::bitcoin::secp256k1::Secp256k1::new(),
        ::bitcoin::XOnlyPublicKey::from(ours),
        None,
    );
    let mut psbt = unsigned(&[script, p2wpkh(&small(2))]);
    psbt.inputs[1].witness_utxo = None;
    psbt.inputs[1].non_witness_utxo = None;
    assert_eq!(refused(&request(&psbt)).param(), "btc_transaction.psbt");
    // Unless the signature covers its own input only.
    let listed = json!({"sign_inputs": [{"index": 0, "sighash": "ALL|ANYONECANPAY"}]});
    assert!(sign(&small(1), &with(&psbt.serialize(), listed)).is_ok());
}

/// BTC-4.
#[test]
fn a_fee_above_the_cap_is_denied() {
    let with_fee = |inputs: u64, fee: u64| {
        let mut psbt = unsigned(&[p2wpkh(&small(1))]);
        psbt.inputs[0].non_witness_utxo = None;
        psbt.inputs[0].witness_utxo.as_mut().unwrap().value = Amount::from_sat(inputs);
        psbt.unsigned_tx.output[0].value = Amount::from_sat(inputs - fee);
        psbt
    };
    for (inputs, fee, denied) in [
        (20_000_000, 1_000_000, false),
        (1_000_000, 1_000_000, false),
        (10_000_000, 1_000_000, false),
        (10_000_000, 1_000_001, true),
        (20_000_000, 2_000_000, false),
        (20_000_000, 2_000_001, true),
    ] {
        let psbt = with_fee(inputs, fee);
        for request in [request(&psbt), of_bytes(&as_v2(&psbt, None))] {
            let result = sign(&small(1), &request);
            let is_denied = matches!(result, Err(Failed::Refused(SigningRefused::Denied(_))));
            assert_eq!(is_denied, denied, "{inputs} {fee}");
            assert_eq!(result.is_ok(), !denied);
        }
    }
}

/// Two inputs of the wallet hold 5 bitcoin each, and one of them pays the only output. Each request knows of one, so that
/// neither sees a fee; both signatures would fit the transaction that burns the other 5.
#[test]
fn two_requests_that_know_one_input_each_burn_nothing() {
    const FIVE: u64 = 500_000_000;
    let mut whole = unsigned(&[p2wpkh(&small(1)), p2wpkh(&small(1))]);
    whole.unsigned_tx.output.pop();
    whole.outputs.pop();
    whole.unsigned_tx.output[0].value = Amount::from_sat(FIVE);
    for input in &mut whole.inputs {
        input.non_witness_utxo = None;
        input.witness_utxo.as_mut().unwrap().value = Amount::from_sat(FIVE);
    }
    let denied = refused(&request(&whole));
    assert!(matches!(denied, Failed::Refused(SigningRefused::Denied(_))));
    for unknown in [0, 1] {
        let mut psbt = whole.clone();
        psbt.inputs[unknown].witness_utxo = None;
        let asked = json!({"sign_inputs": [{"index": 1 - unknown}]});
        for bytes in [psbt.serialize(), as_v2(&psbt, None)] {
            for request in [of_bytes(&bytes), with(&bytes, asked.clone())] {
                let refused = refused(&request);
                assert_eq!(refused.param(), "btc_transaction.psbt");
                let named = format!("in input {unknown};");
                assert!(format!("{refused:?}").contains(&named), "{refused:?}");
            }
        }
    }
}

/// A signature commits to all inputs, unless its type includes ANYONECANPAY: one signature without it is enough.
#[test]
fn the_outputs_of_all_inputs_are_needed_unless_others_may_pay() {
    let mut psbt = unsigned(&[p2wpkh(&small(1)), p2wpkh(&small(1)), p2wpkh(&small(2))]);
    psbt.inputs[2].witness_utxo = None;
    psbt.inputs[2].non_witness_utxo = None;
    // The known inputs are enough for the outputs.
    psbt.unsigned_tx.output.pop();
    psbt.outputs.pop();
    for (first, second, signs) in [
        ("ALL", "ALL", false),
        ("NONE", "NONE", false),
        ("SINGLE", "SINGLE", false),
        ("ALL", "ALL|ANYONECANPAY", false),
        ("ALL|ANYONECANPAY", "SINGLE", false),
        ("ALL|ANYONECANPAY", "ALL|ANYONECANPAY", true),
        ("NONE|ANYONECANPAY", "SINGLE|ANYONECANPAY", true),
    ] {
        let listed = json!({"sign_inputs": [{"index": 0, "sighash": first}, {"index": 1, "sighash": second}]});
        for bytes in [psbt.serialize(), as_v2(&psbt, None)] {
            let result = sign(&small(1), &with(&bytes, listed.clone()));
            assert_eq!(result.is_ok(), signs, "{first} {second}");
            if let Err(refused) = result {
                assert_eq!(refused.param(), "btc_transaction.psbt");
                assert!(format!("{refused:?}").contains("in input 2;"));
            }
        }
    }
    // Known inputs are still counted: an unknown input can only increase the fee.
    psbt.unsigned_tx.output.truncate(1);
    psbt.outputs.truncate(1);
    psbt.inputs[1].non_witness_utxo = None;
    psbt.inputs[1].witness_utxo.as_mut().unwrap().value = Amount::from_sat(50_000_000);
    let listed = json!({"sign_inputs": [{"index": 0, "sighash": "ALL|ANYONECANPAY"}]});
    assert!(matches!(
        refused(&with(&psbt.serialize(), listed)),
        Failed::Refused(SigningRefused::Denied(_))
    ));
}

/// Who lets others add inputs may ask for more than is there.
#[test]
fn others_may_pay_where_the_signature_lets_them() {
    let mut psbt = unsigned(&[p2wpkh(&small(1))]);
    psbt.unsigned_tx.output[0].value = Amount::from_sat(500_000);
    let listed = |sighash: &str| {
        let listed = json!({"sign_inputs": [{"index": 0, "sighash": sighash}]});
        with(&psbt.serialize(), listed)
    };
    assert!(sign(&small(1), &listed("SINGLE|ANYONECANPAY")).is_ok());
    assert_eq!(refused(&listed("SINGLE")).param(), "btc_transaction.psbt");
}

#[test]
fn transactions_that_no_node_passes_on_are_refused() {
    let mut psbt = unsigned(&[p2wpkh(&small(1))]);
    psbt.unsigned_tx.output[0].script_pubkey = ScriptBuf::from_bytes(vec![0x6a; 100_000]);
    assert_eq!(refused(&request(&psbt)).param(), "btc_transaction.psbt");
    psbt.unsigned_tx.output[0].script_pubkey = ScriptBuf::from_bytes(vec![0x6a; 99_000]);
    assert!(sign(&small(1), &request(&psbt)).is_ok());
}

/// Each costs a hash over the whole transaction.
#[test]
fn inputs_from_before_segregated_witness_are_limited_in_number() {
    let p2pkh =
        |number| ScriptBuf::new_p2pkh(&PublicKey::new(public_key(&small(number)).0).pubkey_hash());
    let two_hundred = unsigned(&vec![p2pkh(1); 200]);
    let answer = sign(&small(1), &request(&two_hundred)).unwrap();
    assert_eq!(answer["signatures"].as_array().unwrap().len(), 200);
    let one_more = unsigned(&vec![p2pkh(1); 201]);
    assert_eq!(refused(&request(&one_more)).param(), "btc_transaction.psbt");
    let listed = json!({"sign_inputs": [{"index": 7}]});
    assert!(sign(&small(1), &with(&one_more.serialize(), listed)).is_ok());
    // Those of others are hashed when the transaction is made.
    let mut of_others = vec![p2pkh(2); 201];
    of_others.push(p2wpkh(&small(1)));
    let finalize = with(&unsigned(&of_others).serialize(), json!({"finalize": true}));
    assert_eq!(refused(&finalize).param(), "btc_transaction.finalize");
}

/// Three bytes per record: an unknown field, repeated.
#[test]
fn records_are_limited_in_number() {
    let mut psbt = good();
    let unknown = |number: u32| ::bitcoin::psbt::raw::Key {
        type_value: 0xf0,
        key: number.to_le_bytes().to_vec(),
    };
    psbt.unknown = (0..49_000)
        .map(|number| (unknown(number), vec![]))
        .collect();
    assert!(sign(&small(1), &request(&psbt)).is_ok());
    psbt.unknown = (0..50_000)
        .map(|number| (unknown(number), vec![]))
        .collect();
    assert_eq!(refused(&request(&psbt)).param(), "btc_transaction.psbt");
}

/// The counts of version 2 are believed only as far as there are maps.
#[test]
fn counts_that_promise_too_much_are_refused() {
    let bytes = as_v2(&good(), None);
    let text = hex::encode(&bytes);
    for count in [
        "ffffffffffffffffff",
        "fe00000080",
        "fd0001",
        "03",
        "01",
        "00",
    ] {
        for kind in ["04", "05"] {
            let length = format!("{:02x}", count.len() / 2);
            let spoiled = text.replacen(
                &format!("01{kind}0102"),
                &format!("01{kind}{length}{count}"),
                1,
            );
            assert_ne!(spoiled, text);
            let spoiled = hex::decode(spoiled).unwrap();
            assert_eq!(refused(&of_bytes(&spoiled)).param(), "btc_transaction.psbt");
        }
    }
}
