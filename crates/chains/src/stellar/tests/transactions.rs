//! What becomes of the signatures of an envelope, and on which network it is signed.

use super::references::{cases, environment, first, string, wallet};
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use stellar_xdr::{
    DecoratedSignature, Limits, ReadXdr, Signature, SignatureHint, TransactionEnvelope, VecM,
    WriteXdr,
};

const PUBLIC: &str = "Public Global Stellar Network ; September 2015";
const TEST: &str = "Test SDF Network ; September 2015";

fn envelope(text: &str) -> TransactionEnvelope {
    TransactionEnvelope::from_xdr(STANDARD.decode(text).unwrap(), Limits::none()).unwrap()
}

fn signatures(envelope: &mut TransactionEnvelope) -> &mut VecM<DecoratedSignature, 20> {
    match envelope {
        TransactionEnvelope::TxV0(v0) => &mut v0.signatures,
        TransactionEnvelope::Tx(v1) => &mut v1.signatures,
        TransactionEnvelope::TxFeeBump(bump) => &mut bump.signatures,
    }
}

/// The first envelope with this many signatures of others, with the hint of the wallet or another one.
fn with_signatures(case: &Value, number: u8, hint: [u8; 4]) -> String {
    let mut envelope = envelope(string(case, "before"));
    let made = (0..number).map(|filler| DecoratedSignature {
        hint: SignatureHint(hint),
        signature: Signature(vec![filler; 64].try_into().unwrap()),
    });
    *signatures(&mut envelope) = made.collect::<Vec<_>>().try_into().unwrap();
    STANDARD.encode(envelope.to_xdr(Limits::none()).unwrap())
}

/// XLM-4.
#[test]
fn there_is_room_for_twenty_signatures() {
    for kind in ["v0", "v1", "fee-bump"] {
        let case = cases("transactions")
            .into_iter()
            .find(|case| case["kind"] == kind);
        let case = case.unwrap();
        let wallet = wallet(&case);
        let request = json!({"xdr": with_signatures(&case, 19, [1; 4])});
        let fields = wallet.sign_transaction(request.clone()).unwrap();
        let mut signed = envelope(text(&fields, "signed_transaction"));
        let held = signatures(&mut signed);
        assert_eq!(held.len(), 20);
        assert_eq!(
            held[19].signature.0.as_slice(),
            STANDARD.decode(string(&case, "signature")).unwrap()
        );
        // Full, and ours is one of them.
        let again = wallet.sign_transaction(json!({"xdr": fields["signed_transaction"]}));
        assert_eq!(again, Ok(fields));
        // Full, and ours is none of them.
        let request = json!({"xdr": with_signatures(&case, 20, [1; 4])});
        assert_eq!(
            param(wallet.sign_transaction(request)),
            "xlm_transaction.xdr"
        );
    }
}

/// The hint is four bytes of the key: other keys may share them, and anyone can write them.
#[test]
fn a_signature_that_only_has_our_hint_is_not_taken_for_ours() {
    let case = first("transactions", "test");
    let wallet = wallet(&case);
    let hint: [u8; 4] = wallet.public_key[28..].try_into().unwrap();
    let request = json!({"xdr": with_signatures(&case, 1, hint)});
    let fields = wallet.sign_transaction(request).unwrap();
    let mut signed = envelope(text(&fields, "signed_transaction"));
    let held = signatures(&mut signed);
    assert_eq!(held.len(), 2);
    assert_eq!((held[0].hint.0, held[1].hint.0), (hint, hint));
    assert_eq!(held[0].signature.0.as_slice(), [0; 64]);
    assert_eq!(text(&fields, "signature"), string(&case, "signature"));
}

/// XLM-3, CH-9.
#[test]
fn only_the_network_of_the_environment_is_signed_for() {
    for (of, own, other) in [("live", PUBLIC, TEST), ("test", TEST, PUBLIC)] {
        let case = first("transactions", of);
        let wallet = wallet(&case);
        let request =
            |passphrase: Value| json!({"xdr": case["before"], "network_passphrase": passphrase});
        for named in [json!(null), json!(own)] {
            let fields = wallet.sign_transaction(request(named)).unwrap();
            assert_eq!(fields["hash"], case["hash"]);
        }
        let trailing = format!("{own} ");
        for named in [other, "", "Standalone Network ; February 2017", &trailing] {
            let request = request(json!(named));
            for name in ["xlm_signTransaction", "stellar_signXDR"] {
                assert!(is_denied(&wallet.rpc(name, request.clone())), "{named}");
            }
            assert!(is_denied(&wallet.sign_transaction(request)), "{named}");
        }
        for named in [json!(1), json!([own]), json!({})] {
            assert_eq!(
                param(wallet.sign_transaction(request(named))),
                "xlm_transaction.network_passphrase"
            );
        }
    }
}

/// The same transaction has another hash, and so another signature, on the other network.
#[test]
fn a_signature_does_not_hold_on_the_other_network() {
    let case = first("transactions", "live");
    let live = wallet(&case);
    assert_eq!(environment(&case), Environment::Live);
    let test = Wallet::of_seed(string(&case, "seed"), Environment::Test);
    let request = json!({"xdr": case["before"]});
    let [live, test] = [live, test].map(|wallet| wallet.sign_transaction(request.clone()).unwrap());
    assert_ne!(live["hash"], test["hash"]);
    assert_ne!(live["signature"], test["signature"]);
}

/// v0 is only another way to write v1 (CAP-15): the same hash, and each keeps its envelope (XLM-3).
#[test]
fn a_v0_transaction_has_the_hash_of_its_v1() {
    let case = cases("transactions")
        .into_iter()
        .find(|case| case["kind"] == "v0");
    let case = case.unwrap();
    let TransactionEnvelope::TxV0(v0) = envelope(string(&case, "before")) else {
        panic!("not v0");
    };
    let v1 = TransactionEnvelope::from(stellar_xdr::Transaction::from(v0.tx));
    let request = json!({"xdr": STANDARD.encode(v1.to_xdr(Limits::none()).unwrap())});
    let fields = wallet(&case).sign_transaction(request).unwrap();
    assert_eq!(fields["hash"], case["hash"]);
    assert_eq!(fields["signature"], case["signature"]);
    let signed = envelope(text(&fields, "signed_transaction"));
    assert!(matches!(signed, TransactionEnvelope::Tx(_)));
}
