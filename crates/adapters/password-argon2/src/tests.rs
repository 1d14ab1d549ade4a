//! Known hashes of other programs, refusals, and the queue in front of the threads.

mod known;
mod line;
mod wycheproof;

use std::num::NonZeroUsize;
use std::sync::Arc;

use vestry_contract::fakes::SeededEntropy;

use super::*;

fn hasher(settings: Settings) -> Argon2Hasher {
    Argon2Hasher::new(settings, Arc::new(SeededEntropy::fresh())).unwrap()
}

fn weak() -> Argon2Hasher {
    hasher(Settings::weakest())
}

fn password(text: &str) -> Password {
    Password::presented("password", Secret::new(text.to_owned())).unwrap()
}

fn raw(text: &str) -> PasswordHash {
    PasswordHash {
        normalization: Normalization::Raw,
        text: Secret::new(text.to_owned()),
    }
}

/// P-4: Argon2id, its default parameters, and a new random salt of 16 bytes each time.
#[tokio::test]
async fn p_4_a_hash_is_an_argon2id_phc_string_with_a_fresh_salt() {
    let hasher = hasher(Settings::default());
    let ours = password("correct horse battery staple");
    let (one, two) = (
        hasher.hash(&ours).await.unwrap(),
        hasher.hash(&ours).await.unwrap(),
    );
    let parts: Vec<&str> = one.text.expose().split('$').collect();
    assert_eq!(parts[..4], ["", "argon2id", "v=19", "m=19456,t=2,p=1"]);
    // 16 and 32 bytes in base64 without padding.
    assert_eq!((parts[4].len(), parts[5].len()), (22, 43));
    assert_ne!(one.text.expose(), two.text.expose());
    for hash in [&one, &two] {
        assert!(hasher.verify(&ours, hash).await.unwrap());
        assert!(!hasher.is_outdated(hash));
    }
    assert!(
        !hasher
            .verify(&password("correct horse battery stapl"), &one)
            .await
            .unwrap()
    );
    assert!(!hasher.verify(&password(""), &one).await.unwrap());
}

/// P-4: hashes weaker than the current parameters are detected, so that they are replaced.
#[tokio::test]
async fn p_4_hashes_are_outdated_after_the_policy_is_raised() {
    let now = Settings::weakest();
    let hash = hasher(now).hash(&password("x")).await.unwrap();
    assert!(!hasher(now).is_outdated(&hash));
    for changed in [
        Settings {
            memory_kib: now.memory_kib + 8,
            ..now
        },
        Settings {
            iterations: now.iterations + 1,
            ..now
        },
        Settings {
            memory_kib: 32,
            parallelism: 2,
            ..now
        },
    ] {
        let hasher = hasher(changed);
        assert!(hasher.is_outdated(&hash));
        // It still verifies.
        assert!(hasher.verify(&password("x"), &hash).await.unwrap());
    }
    let of_raw_text = PasswordHash {
        normalization: Normalization::Raw,
        ..hash
    };
    assert!(hasher(now).is_outdated(&of_raw_text));
}

/// P-4: a hash stronger than the current parameters is kept, since replacing it would weaken it. One that is weaker in any respect, or of
/// another kind, is replaced.
#[tokio::test]
async fn p_4_a_stronger_hash_is_not_weakened() {
    let of = |memory_kib, iterations, parallelism| Settings {
        memory_kib,
        iterations,
        parallelism,
        ..Settings::weakest()
    };
    let now = hasher(of(64, 2, 1));
    for (memory_kib, iterations, parallelism, outdated) in [
        (64, 2, 1, false),
        (72, 2, 1, false),
        (64, 3, 1, false),
        (128, 5, 4, false),
        (128, 1, 1, true),
        (56, 9, 1, true),
    ] {
        let made = hasher(of(memory_kib, iterations, parallelism));
        let hash = made.hash(&password("x")).await.unwrap();
        let case = format!("m={memory_kib},t={iterations},p={parallelism}");
        assert_eq!(now.is_outdated(&hash), outdated, "{case}");
        assert!(now.verify(&password("x"), &hash).await.unwrap());
        let imported = raw(hash.text.expose());
        let is_ours = (memory_kib, iterations, parallelism) == (64, 2, 1);
        assert_eq!(now.is_outdated(&imported), outdated || is_ours, "{case}");
    }
    let weaker_kind = "$argon2i$v=19$m=65536,t=9,p=1$c29tZXNhbHRzb21lc2FsdA$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA";
    assert!(now.is_outdated(&raw(weaker_kind)));
}

/// P-3: both spellings of a letter are one password in our hashes; imported hashes cover the bytes that were sent.
#[tokio::test]
async fn p_3_the_text_normalization_depends_on_the_hash() {
    let hasher = weak();
    let hash = hasher
        .hash(&password("e\u{301}te\u{301} 1999"))
        .await
        .unwrap();
    assert_eq!(hash.normalization, Normalization::Nfc);
    assert!(hasher.verify(&password("été 1999"), &hash).await.unwrap());
    let theirs = PasswordHash {
        normalization: Normalization::Raw,
        ..hash
    };
    assert!(hasher.verify(&password("été 1999"), &theirs).await.unwrap());
    assert!(
        !hasher
            .verify(&password("e\u{301}te\u{301} 1999"), &theirs)
            .await
            .unwrap()
    );
}

/// attack-21: every byte counts, up to byte 1,024.
#[tokio::test]
async fn attack_21_passwords_that_differ_after_byte_72_differ() {
    let hasher = weak();
    let longest = "x".repeat(1024);
    let hash = hasher.hash(&password(&longest)).await.unwrap();
    assert!(hasher.verify(&password(&longest), &hash).await.unwrap());
    for other in [
        "x".repeat(72),
        "x".repeat(1023),
        format!("{}y", "x".repeat(1023)),
    ] {
        assert!(!hasher.verify(&password(&other), &hash).await.unwrap());
    }
}

/// P-10: pretending costs one hash of the current parameters: it fills the same memory.
#[tokio::test]
async fn p_10_pretending_fills_the_same_memory() {
    weak().pretend(&password("anything")).await.unwrap();
    weak().pretend(&password("")).await.unwrap();
}

#[test]
fn parameters_that_argon2_does_not_allow_are_refused() {
    let settings = Settings {
        memory_kib: 7,
        ..Settings::weakest()
    };
    assert!(Argon2Hasher::new(settings, Arc::new(SeededEntropy::fresh())).is_err());
}

#[test]
fn p_4_parameters_below_the_minimum_strength_are_detected() {
    let of = |memory_kib, iterations| Settings {
        memory_kib,
        iterations,
        ..Settings::default()
    };
    for (memory_kib, iterations) in [
        (19_456, 2),
        (47_104, 1),
        (12_288, 3),
        (65_536, 3),
        (7_168, 5),
    ] {
        assert!(
            of(memory_kib, iterations).is_strong_enough(),
            "{memory_kib} {iterations}"
        );
    }
    for (memory_kib, iterations) in [(19_455, 2), (47_103, 1), (7_167, 50), (8, 1)] {
        assert!(
            !of(memory_kib, iterations).is_strong_enough(),
            "{memory_kib} {iterations}"
        );
    }
}
