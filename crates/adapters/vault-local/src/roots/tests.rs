//! Wrapping: what unwraps and what does not.

use std::collections::HashSet;

use vestry_contract::fakes::SeededEntropy;

use super::*;

fn roots(versions: &[u32], primary: u32) -> Roots {
    let roots = versions
        .iter()
        .map(|version| RootKey {
            version: *version,
            key: Secret::new([u8::try_from(*version).unwrap(); 32]),
        })
        .collect();
    Roots::new(&Document { primary, roots }).unwrap()
}

#[test]
fn a_wrapped_key_is_nonce_ciphertext_and_tag_and_opens_in_its_place_only() {
    let roots = roots(&[1, 2], 2);
    let key = Secret::new([9; 32]);
    let wrapped = roots.wrap(b"here", &key, &SeededEntropy::fresh()).unwrap();
    assert_eq!(wrapped.root_version, 2);
    assert_eq!(wrapped.bytes.len(), 60);
    assert_eq!(roots.unwrap(b"here", &wrapped).unwrap().expose(), &[9; 32]);
    for elsewhere in [b"there".as_slice(), b"", b"here\0", b"her"] {
        let outcome = roots.unwrap(elsewhere, &wrapped);
        assert!(matches!(outcome, Err(VaultError::Corrupt)));
    }
}

/// T2 at this layer: each bit, each length.
#[test]
fn t2_every_altered_bit_and_every_other_length_is_refused() {
    let roots = roots(&[1], 1);
    let wrapped = roots
        .wrap(b"here", &Secret::new([9; 32]), &SeededEntropy::fresh())
        .unwrap();
    let refused = |bytes: Vec<u8>| {
        let altered = WrappedKey {
            root_version: 1,
            bytes,
        };
        assert!(matches!(
            roots.unwrap(b"here", &altered),
            Err(VaultError::Corrupt)
        ));
    };
    for bit in 0..wrapped.bytes.len() * 8 {
        let mut bytes = wrapped.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        refused(bytes);
    }
    for length in 0..wrapped.bytes.len() {
        refused(wrapped.bytes[..length].to_vec());
    }
    refused([wrapped.bytes.as_slice(), &[0]].concat());
}

/// Two versions with the very same key: only the bound number tells them apart.
#[test]
fn t3_a_wrapped_key_cannot_be_passed_off_as_one_of_another_version() {
    let key = || Secret::new([5; 32]);
    let document = Document {
        primary: 1,
        roots: [1, 2]
            .map(|version| RootKey {
                version,
                key: key(),
            })
            .into(),
    };
    let roots = Roots::new(&document).unwrap();
    let wrapped = roots
        .wrap(b"here", &Secret::new([9; 32]), &SeededEntropy::fresh())
        .unwrap();
    let renamed = WrappedKey {
        root_version: 2,
        ..wrapped
    };
    assert!(matches!(
        roots.unwrap(b"here", &renamed),
        Err(VaultError::Corrupt)
    ));
}

#[test]
fn a_missing_version_is_named() {
    let wrapped = WrappedKey {
        root_version: 3,
        bytes: vec![0; 60],
    };
    assert!(matches!(
        roots(&[1, 2], 2).unwrap(b"here", &wrapped),
        Err(VaultError::UnknownVersion(3))
    ));
}

/// T7 at this layer.
#[test]
fn t7_no_nonce_is_used_twice() {
    let roots = roots(&[1], 1);
    let entropy = SeededEntropy::fresh();
    let key = Secret::new([9; 32]);
    let nonces: HashSet<_> = (0..20_000)
        .map(|_| roots.wrap(b"here", &key, &entropy).unwrap().bytes[..12].to_vec())
        .collect();
    assert_eq!(nonces.len(), 20_000);
}
