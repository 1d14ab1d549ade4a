//! Small secrets and keyed hashes.

use vestry_domain::World;
use vestry_domain::envelope::{AppKey, KeyPurpose, Mac, Place, Sealed, SecretKind};
use vestry_ports::custody::CustodyError;
use vestry_ports::store::StoreResult;

use super::app_keys::stored_keys;
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
    SecretKind::StoredResponse,
];

const fn place(world: World, kind: SecretKind, owner: &str) -> Place<'_> {
    Place { world, kind, owner }
}

/// A secret of any length and kind opens unchanged; sealing it twice gives two different ciphertexts.
pub async fn a_secret_comes_back_as_it_was(house: House) {
    let mut samples = Samples::fresh();
    for world in house.worlds(&mut samples).await {
        for kind in KINDS {
            for length in [0, 1, 16, 6_000, 100_000] {
                let place = place(world, kind, "owner");
                let plaintext = samples.bytes(length);
                let sealed = works(house.sealer.seal(place, &plaintext).await);
                let again = works(house.sealer.seal(place, &plaintext).await);
                assert!(sealed != again, "sealing is deterministic");
                for sealed in [sealed, again] {
                    let opened = works(house.sealer.open(place, &sealed).await);
                    assert!(*opened.expose() == plaintext, "the opened secret differs");
                }
            }
        }
    }
}

/// No part of the secret is readable in the stored form.
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

/// A sealed secret opens only for its own owner, as its own kind and in its own world (T1, T3).
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

/// A sealed secret does not open if any bit of it is flipped, its version included (T2).
pub async fn a_changed_bit_of_a_secret_does_not_open(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let place = place(world, SecretKind::SigningKey, "owner");
    let sealed = works(house.sealer.seal(place, b"a secret of some length").await);
    let key_version = sealed.key_version;
    for bytes in changed_bits(&sealed.bytes) {
        let changed = Sealed { key_version, bytes };
        is_tampered(house.sealer.open(place, &changed).await, "a flipped bit");
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

/// A sealed secret that is truncated, extended or empty does not open, and nothing panics (T2).
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

/// A keyed hash of any number of parts matches its input every time.
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

/// A keyed hash matches nothing else: no other part, no other split between the parts, no other kind or world (OTP-7, OTP-8).
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

/// A keyed hash with a flipped bit, truncated or extended, matches nothing.
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
        assert!(!works(matches), "an altered hash matches");
    }
}

impl House {
    /// The current key of a world for small secrets.
    async fn secrets_key(&self, world: World, version: u32) -> AppKey {
        let keys = stored_keys(self).await;
        let wanted = (world, KeyPurpose::Secrets, version);
        let found = keys
            .into_iter()
            .find(|key| (key.world, key.purpose, key.version) == wanted);
        let Some(key) = found else {
            panic!("version {version} not found")
        };
        key
    }

    /// Adds a second version, after recording what decoys are derived from from then on.
    async fn rotate_secrets(&self, samples: &mut Samples, world: World) {
        let first = self.secrets_key(world, 1).await;
        let decoys = self.custodian.narrow_app_key(&first, KeyPurpose::Decoys);
        self.add_app_key(&works(decoys.await)).await;
        let (purpose, now) = (KeyPurpose::Secrets, samples.tick());
        let second = self.custodian.mint_app_key(&world, purpose, 2, now);
        self.add_app_key(&works(second.await)).await;
    }

    /// Destroys the first version; the part that the audit log needs is kept.
    async fn retire_first(&self, world: World) {
        let first = self.secrets_key(world, 1).await;
        let past = self
            .custodian
            .narrow_app_key(&first, KeyPurpose::PastAudit)
            .await;
        self.add_app_key(&works(past)).await;
        let removed: StoreResult<bool> = async {
            let mut tx = self.store.begin().await?;
            let keys = tx.app_keys();
            let removed = keys.remove(&world, KeyPurpose::Secrets, 1).await?;
            tx.commit().await?;
            Ok(removed)
        }
        .await;
        assert!(works(removed.map_err(CustodyError::Store)));
    }
}

/// M-8: a secret can be resealed under a given version and opens as before; an altered one is rejected.
pub async fn m_8_a_secret_is_resealed_under_another_version(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let plaintext = samples.bytes(100);
    let place = place(world, SecretKind::Password, "owner");
    let sealed = works(house.sealer.seal(place, &plaintext).await);
    house.rotate_secrets(&mut samples, world).await;
    let fresh = works(house.sealer.reseal(place, &sealed, 2).await);
    assert_eq!((sealed.key_version, fresh.key_version), (1, 2));
    let opened = works(house.sealer.open(place, &fresh).await);
    assert!(*opened.expose() == plaintext, "the opened secret differs");
    for bytes in changed_bits(&sealed.bytes) {
        let altered = Sealed {
            key_version: 1,
            bytes,
        };
        is_tampered(house.sealer.reseal(place, &altered, 2).await, "altered");
    }
    let parts: &[&[u8]] = &[b"part"];
    let (kind, sealer) = (SecretKind::RecoveryCode, &house.sealer);
    for version in [1, 2] {
        let mac = works(sealer.mac_under(&world, kind, parts, version).await);
        assert_eq!(mac.key_version, version);
        assert!(works(sealer.mac_matches(&world, kind, parts, &mac).await));
    }
}

/// M-8: a keyed hash of the audit log still verifies after its key is gone. An altered hash does not, nor does one of another kind.
pub async fn m_8_hashes_of_the_audit_log_outlive_their_key(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let parts: &[&[u8]] = &[b"entry", b"hash"];
    let (sealer, kind) = (&house.sealer, SecretKind::Audit);
    let mac = works(sealer.mac(&world, kind, parts).await);
    let code = works(sealer.mac(&world, SecretKind::Code, parts).await);
    house.rotate_secrets(&mut samples, world).await;
    house.retire_first(world).await;
    let sealer = (house.another)();
    assert!(works(sealer.mac_matches(&world, kind, parts, &mac).await));
    for tag in changed_bits(&mac.tag) {
        let altered = Mac { tag, ..mac.clone() };
        let matches = sealer.mac_matches(&world, kind, parts, &altered).await;
        assert!(!works(matches), "an altered hash matches");
    }
    let matches = sealer
        .mac_matches(&world, SecretKind::Code, parts, &code)
        .await;
    is_tampered(matches, "a code under a destroyed key");
}

/// M-8: decoys are derived from the same value under every version, and after the first version is gone.
pub async fn m_8_decoys_are_the_same_under_every_version(house: House) {
    let mut samples = Samples::fresh();
    let [world, other] = house.worlds(&mut samples).await;
    let parts: &[&[u8]] = &[b"decoy", b"somebody"];
    let before = works(house.sealer.decoy(&world, parts).await);
    assert_eq!(before.len(), 32);
    assert_ne!(works(house.sealer.decoy(&other, parts).await), before);
    house.rotate_secrets(&mut samples, world).await;
    let rotated = (house.another)();
    assert_eq!(works(rotated.decoy(&world, parts).await), before);
    house.retire_first(world).await;
    let retired = (house.another)();
    assert_eq!(works(retired.decoy(&world, parts).await), before);
}

/// M-8: the remainder of a destroyed key opens nothing: it is another key in another context. Only a key of `secrets` leaves one.
pub async fn m_8_only_a_key_of_secrets_is_narrowed(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let first = house.secrets_key(world, 1).await;
    for purpose in KeyPurpose::NARROW {
        let narrow = works(house.custodian.narrow_app_key(&first, purpose).await);
        assert_eq!((narrow.purpose, narrow.version), (purpose, 1));
        let as_wide = AppKey {
            purpose: KeyPurpose::Secrets,
            ..narrow.clone()
        };
        is_tampered(
            house.custodian.rewrap_app_key(&as_wide).await,
            "a narrowed key used as a full one",
        );
        let again = house.custodian.narrow_app_key(&narrow, purpose).await;
        assert!(again.is_err(), "a narrowed key was narrowed again");
    }
    for purpose in KeyPurpose::ALL {
        let refused = house.custodian.narrow_app_key(&first, purpose).await;
        assert!(refused.is_err(), "{purpose} keys must not be narrowed");
    }
}
