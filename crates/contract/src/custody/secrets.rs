//! Small secrets and keyed hashes.

use vestry_domain::World;
use vestry_domain::envelope::{Mac, Place, Sealed, SecretKind};

use super::{House, changed_bits, is_tampered, other_lengths, works};
use crate::samples::Samples;

const KINDS: [SecretKind; 10] = [
    SecretKind::Code,
    SecretKind::OutboxPayload,
    SecretKind::SigningKey,
    SecretKind::Password,
    SecretKind::TotpSeed,
    SecretKind::RecoveryCode,
    SecretKind::ProviderSecret,
    SecretKind::OauthFlow,
    SecretKind::OauthIdentity,
    SecretKind::KeptAnswer,
];

const fn place(world: World, kind: SecretKind, owner: &str) -> Place<'_> {
    Place { world, kind, owner }
}

/// What was sealed comes back, of any length and kind; sealing it twice gives two different ciphertexts.
pub async fn a_secret_comes_back_as_it_was(house: House) {
    let mut samples = Samples::fresh();
    for world in house.worlds(&mut samples).await {
        for kind in KINDS {
            for length in [0, 1, 16, 6_000, 100_000] {
                let place = place(world, kind, "owner");
                let plaintext = samples.bytes(length);
                let sealed = works(house.sealer.seal(place, &plaintext).await);
                let again = works(house.sealer.seal(place, &plaintext).await);
                assert!(sealed != again, "sealed twice in one way");
                for sealed in [sealed, again] {
                    let opened = works(house.sealer.open(place, &sealed).await);
                    assert!(*opened.expose() == plaintext, "another secret came back");
                }
            }
        }
    }
}

/// No part of the secret can be read in what is stored.
pub async fn a_secret_is_not_in_the_clear(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let plaintext = samples.bytes(200);
    let place = place(world, SecretKind::OutboxPayload, "owner");
    let sealed = works(house.sealer.seal(place, &plaintext).await);
    let readable = plaintext
        .windows(8)
        .filter(|part| sealed.bytes.windows(8).any(|window| window == *part));
    assert_eq!(readable.count(), 0);
}

/// A sealed secret opens for its own owner, as its own kind and in its own world only (T1, T3).
pub async fn a_secret_opens_in_its_own_place_only(house: House) {
    let mut samples = Samples::fresh();
    let [world, other_environment] = house.worlds(&mut samples).await;
    let other_app = house.world(&mut samples).await;
    for kind in KINDS {
        let right = place(world, kind, "evt_1");
        let sealed = works(house.sealer.seal(right, b"secret").await);
        let mut wrong = vec![
            place(other_environment, kind, "evt_1"),
            place(other_app, kind, "evt_1"),
            place(world, kind, "evt_2"),
            place(world, kind, "evt_"),
            place(world, kind, "evt_11"),
            place(world, kind, ""),
        ];
        let other_kinds = KINDS.into_iter().filter(|other| *other != kind);
        wrong.extend(other_kinds.map(|kind| place(world, kind, "evt_1")));
        for place in wrong {
            is_tampered(house.sealer.open(place, &sealed).await, "another place");
        }
        works(house.sealer.open(right, &sealed).await);
    }
}

/// Every single bit of a sealed secret counts, its version too (T2).
pub async fn a_changed_bit_of_a_secret_does_not_open(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let place = place(world, SecretKind::SigningKey, "owner");
    let sealed = works(house.sealer.seal(place, b"a secret of some length").await);
    let key_version = sealed.key_version;
    for bytes in changed_bits(&sealed.bytes) {
        let changed = Sealed { key_version, bytes };
        is_tampered(house.sealer.open(place, &changed).await, "a changed bit");
    }
    for bit in 0..32 {
        let changed = Sealed {
            key_version: key_version ^ (1 << bit),
            ..sealed.clone()
        };
        is_tampered(house.sealer.open(place, &changed).await, "another version");
    }
    works(house.sealer.open(place, &sealed).await);
}

/// A sealed secret that is cut off anywhere, lengthened or empty does not open, and nothing panics (T2).
pub async fn a_cut_or_lengthened_secret_does_not_open(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let place = place(world, SecretKind::OutboxPayload, "owner");
    let sealed = works(house.sealer.seal(place, b"a secret of some length").await);
    let key_version = sealed.key_version;
    for bytes in other_lengths(&sealed.bytes) {
        let changed = Sealed { key_version, bytes };
        is_tampered(house.sealer.open(place, &changed).await, "another length");
    }
}

/// A keyed hash matches what it was made of, each time anew, of any number of parts.
pub async fn a_keyed_hash_matches_what_it_was_made_of(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    for kind in KINDS {
        for parts in [&[][..], &[&b""[..]], &[b"sign_in", b"email_1", b"000000"]] {
            let mac = works(house.sealer.mac(&world, kind, parts).await);
            assert_eq!(mac.tag.len(), 32);
            assert!(works(
                house.sealer.mac_matches(&world, kind, parts, &mac).await
            ));
        }
    }
}

/// A keyed hash matches nothing else: no other part, no other cut between the parts, no other kind or world (OTP-7, OTP-8).
pub async fn a_keyed_hash_matches_nothing_else(house: House) {
    let mut samples = Samples::fresh();
    let [world, other_environment] = house.worlds(&mut samples).await;
    let other_app = house.world(&mut samples).await;
    let kind = SecretKind::Code;
    let right: &[&[u8]] = &[b"sign_in", b"email_1", b"123456"];
    let mac = works(house.sealer.mac(&world, kind, right).await);
    let wrong: [&[&[u8]]; 9] = [
        &[b"sign_in", b"email_1", b"123457"],
        &[b"sign_in", b"email_2", b"123456"],
        &[b"sign_on", b"email_1", b"123456"],
        &[b"sign_in", b"email_11", b"23456"],
        &[b"sign_in", b"email_1123456"],
        &[b"sign_inemail_1123456"],
        &[b"sign_in", b"email_1", b"123456", b""],
        &[b"email_1", b"sign_in", b"123456"],
        &[],
    ];
    for parts in wrong {
        let matches = house.sealer.mac_matches(&world, kind, parts, &mac).await;
        assert!(!works(matches), "other parts match");
    }
    for world in [other_environment, other_app] {
        let matches = house.sealer.mac_matches(&world, kind, right, &mac).await;
        assert!(!works(matches), "another world matches");
    }
    for kind in [SecretKind::OutboxPayload, SecretKind::SigningKey] {
        let matches = house.sealer.mac_matches(&world, kind, right, &mac).await;
        assert!(!works(matches), "another kind matches");
    }
}

/// A keyed hash that was changed by a bit, cut off or lengthened matches nothing.
pub async fn a_changed_keyed_hash_matches_nothing(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let (kind, parts): (_, &[&[u8]]) = (SecretKind::Code, &[b"123456"]);
    let mac = works(house.sealer.mac(&world, kind, parts).await);
    for tag in changed_bits(&mac.tag).chain(other_lengths(&mac.tag)) {
        let key_version = mac.key_version;
        let changed = Mac { key_version, tag };
        let matches = house
            .sealer
            .mac_matches(&world, kind, parts, &changed)
            .await;
        assert!(!works(matches), "a changed hash matches");
    }
}
