//! Small secrets and keyed hashes.

use std::collections::HashSet;

use vestry_contract::samples::other_environment;
use vestry_domain::envelope::{Mac, Place, Sealed, SecretKind};
use vestry_ports::custody::Sealer;

use super::*;

const KINDS: [SecretKind; 3] = [
    SecretKind::Code,
    SecretKind::OutboxPayload,
    SecretKind::SigningKey,
];

fn place(world: World, kind: SecretKind, owner: &str) -> Place<'_> {
    Place { world, kind, owner }
}

#[tokio::test]
async fn sealed_secrets_open_in_their_place_in_every_process() {
    let mut house = House::new();
    let world = house.world().await;
    let other = house.another_process();
    for kind in KINDS {
        for length in [0, 1, 16, 500, 70_000] {
            let secret = house.samples.bytes(length);
            let sealed = house
                .custody
                .seal(place(world, kind, "o"), &secret)
                .await
                .unwrap();
            for custody in [&house.custody, &other] {
                let opened = custody
                    .open(place(world, kind, "o"), &sealed)
                    .await
                    .unwrap();
                assert_eq!(opened.expose(), &secret);
            }
        }
    }
}

#[tokio::test]
async fn a_sealed_secret_opens_nowhere_else() {
    let mut house = House::new();
    let world = house.world().await;
    let elsewhere = house.world().await;
    for kind in KINDS {
        let sealed = house
            .custody
            .seal(place(world, kind, "evt_1"), b"secret")
            .await
            .unwrap();
        let mut others = vec![
            place(elsewhere, kind, "evt_1"),
            place(other_environment(world), kind, "evt_1"),
            place(world, kind, "evt_2"),
            place(world, kind, ""),
            place(world, kind, "evt_1 "),
        ];
        let other_kinds = KINDS.into_iter().filter(|other| *other != kind);
        others.extend(other_kinds.map(|kind| place(world, kind, "evt_1")));
        for other in others {
            let alarms = house.custody.alarms();
            assert!(is_tampered(&house.custody.open(other, &sealed).await));
            assert_eq!(house.custody.alarms(), alarms + 1);
        }
    }
}

/// T2 for secrets.
#[tokio::test]
async fn t2_an_altered_or_cut_secret_does_not_open() {
    let mut house = House::new();
    let world = house.world().await;
    house.add_version(world, KeyPurpose::Secrets, 2).await;
    let here = place(world, SecretKind::OutboxPayload, "evt_1");
    let sealed = house.custody.seal(here, b"a payload").await.unwrap();
    let bytes = sealed.bytes.clone();
    let mut attempts = Vec::new();
    for bit in 0..bytes.len() * 8 {
        let mut altered = bytes.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        attempts.push(altered);
    }
    attempts.extend((0..bytes.len()).map(|length| bytes[..length].to_vec()));
    attempts.push([bytes.as_slice(), &[0]].concat());
    for bytes in attempts {
        let altered = Sealed {
            bytes,
            ..sealed.clone()
        };
        assert!(is_tampered(&house.custody.open(here, &altered).await));
    }
    for key_version in [0, 1, 2, 3, u32::MAX] {
        let renamed = Sealed {
            key_version,
            ..sealed.clone()
        };
        let opened = house.custody.open(here, &renamed).await;
        assert_eq!(opened.is_ok(), key_version == sealed.key_version);
    }
}

/// T7: no nonce and no salt repeats, and so no pair of key and nonce does.
#[tokio::test]
async fn t7_no_salt_and_no_nonce_is_used_twice() {
    let mut house = House::new();
    let world = house.world().await;
    let here = place(world, SecretKind::OutboxPayload, "evt_1");
    let (mut salts, mut nonces) = (HashSet::new(), HashSet::new());
    for _ in 0..20_000 {
        let sealed = house.custody.seal(here, b"same").await.unwrap();
        salts.insert(sealed.bytes[..16].to_vec());
        nonces.insert(sealed.bytes[16..28].to_vec());
    }
    assert_eq!((salts.len(), nonces.len()), (20_000, 20_000));
}

#[tokio::test]
async fn a_keyed_hash_matches_only_its_world_kind_and_parts() {
    let mut house = House::new();
    let world = house.world().await;
    let elsewhere = house.world().await;
    let parts: [&[u8]; 3] = [b"user", b"000000", b""];
    let mac = house
        .custody
        .mac(&world, SecretKind::Code, &parts)
        .await
        .unwrap();
    let custody = &house.custody;
    let matches = async |world: World, kind: SecretKind, parts: &[&[u8]], mac: &Mac| {
        custody.mac_matches(&world, kind, parts, mac).await.unwrap()
    };
    assert!(matches(world, SecretKind::Code, &parts, &mac).await);
    assert!(!matches(elsewhere, SecretKind::Code, &parts, &mac).await);
    assert!(!matches(other_environment(world), SecretKind::Code, &parts, &mac).await);
    assert!(!matches(world, SecretKind::SigningKey, &parts, &mac).await);
    let others: [&[&[u8]]; 8] = [
        &[],
        &[b"user", b"000000"],
        &[b"user000000", b"", b""],
        &[b"use", b"r000000", b""],
        &[b"user", b"", b"000000"],
        &[b"user", b"000000", b"", b""],
        &[b"user", b"000001", b""],
        &[b"User", b"000000", b""],
    ];
    for parts in others {
        assert!(!matches(world, SecretKind::Code, parts, &mac).await);
    }
    for length in 0..mac.tag.len() {
        let cut = Mac {
            tag: mac.tag[..length].to_vec(),
            ..mac.clone()
        };
        assert!(!matches(world, SecretKind::Code, &parts, &cut).await);
    }
    // A wrong code is normal and raises no alarm.
    assert_eq!(house.custody.alarms(), 0);
}

#[tokio::test]
async fn hashes_of_earlier_key_versions_match_and_unknown_versions_are_tampering() {
    let mut house = House::with_times(LEASE, Duration::ZERO);
    let world = house.world().await;
    let parts: [&[u8]; 1] = [b"000000"];
    let old = house
        .custody
        .mac(&world, SecretKind::Code, &parts)
        .await
        .unwrap();
    house.add_version(world, KeyPurpose::Secrets, 2).await;
    let new = house
        .custody
        .mac(&world, SecretKind::Code, &parts)
        .await
        .unwrap();
    assert_eq!((old.key_version, new.key_version), (1, 2));
    assert_ne!(old.tag, new.tag);
    for mac in [&old, &new] {
        assert!(
            house
                .custody
                .mac_matches(&world, SecretKind::Code, &parts, mac)
                .await
                .unwrap()
        );
    }
    let renamed = Mac {
        key_version: 2,
        ..old.clone()
    };
    assert!(
        !house
            .custody
            .mac_matches(&world, SecretKind::Code, &parts, &renamed)
            .await
            .unwrap()
    );
    let unknown = Mac {
        key_version: 3,
        ..old
    };
    let outcome = house
        .custody
        .mac_matches(&world, SecretKind::Code, &parts, &unknown)
        .await;
    assert!(is_tampered(&outcome));
}
