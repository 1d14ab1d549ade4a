//! Derivation: a separate key for each use.

use std::collections::HashSet;

use aws_lc_rs::hmac::sign;

use super::*;

fn app_key(byte: u8) -> Secret<[u8; 32]> {
    Secret::new([byte; 32])
}

/// RFC 5869 by hand, with HMAC only: the stored data of every installation depend on these bytes.
#[test]
fn a_subkey_is_hkdf_sha_256_of_app_key_salt_and_label() {
    let hmac = |key: &[u8], data: &[u8]| {
        let key = hmac::Key::new(HMAC_SHA256, key);
        sign(&key, data).as_ref().to_vec()
    };
    let prk = hmac(b"vestry-app-key-v1", &[9; 32]);
    let mut info = Vec::new();
    for part in [b"wallets".as_slice(), b"rows"] {
        info.extend_from_slice(&u32::try_from(part.len()).unwrap().to_be_bytes());
        info.extend_from_slice(part);
    }
    info.push(1);
    let expected = hmac(&prk, &info);
    let root = Root::new(&app_key(9));
    assert_eq!(
        root.expand(&[b"wallets", b"rows"]).unwrap().as_slice(),
        expected
    );
}

#[test]
fn no_two_uses_share_a_key() {
    let mut keys = HashSet::new();
    let mut labels: Vec<Vec<&[u8]>> = vec![
        vec![b"wallets", b"data-keys"],
        vec![b"wallets", b"rows"],
        vec![b"wallets", b"imports"],
    ];
    for kind in ["code", "outbox-payload", "signing-key"] {
        labels.push(vec![b"secrets", b"seal", kind.as_bytes()]);
        labels.push(vec![b"secrets", b"hash", kind.as_bytes()]);
    }
    for byte in [1, 2] {
        let root = Root::new(&app_key(byte));
        for label in &labels {
            assert!(keys.insert(*root.expand(label).unwrap()));
        }
    }
}

#[test]
fn labels_are_unambiguous_wherever_they_are_split() {
    let root = Root::new(&app_key(1));
    let whole = root.expand(&[b"ab", b"c"]).unwrap();
    assert_ne!(whole, root.expand(&[b"a", b"bc"]).unwrap());
    assert_ne!(whole, root.expand(&[b"abc"]).unwrap());
}

#[test]
fn each_kind_of_secret_has_subkeys_of_its_own() {
    let keys = SecretSubkeys::derive(&app_key(1)).unwrap();
    let kinds = [
        SecretKind::Code,
        SecretKind::OutboxPayload,
        SecretKind::SigningKey,
    ];
    let tags: HashSet<Vec<u8>> = kinds
        .iter()
        .map(|kind| sign(&keys.of(*kind).hashes, b"x").as_ref().to_vec())
        .collect();
    assert_eq!(tags.len(), kinds.len());
    for one in kinds {
        let sealed = keys
            .of(one)
            .sealing
            .seal(&vestry_contract::fakes::SeededEntropy::fresh(), b"", b"x")
            .unwrap();
        for other in kinds {
            assert_eq!(
                keys.of(other).sealing.open(b"", &sealed).is_ok(),
                one == other
            );
        }
    }
}
