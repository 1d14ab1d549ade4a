//! Wallets: creation, integrity checks and signing.

use std::sync::Arc;

use vestry_domain::envelope::{KeyPurpose, WalletKey};
use vestry_domain::signing::{MessageRequest, SigningRequest};
use vestry_domain::timestamp::Seconds;
use vestry_domain::wallet::{Disabled, DisabledReason, StoredWallet, Wallet, WalletType};
use vestry_domain::{Timestamp, World};
use vestry_ports::custody::{AddressOrder, WalletChange, WalletOrder};

use super::{House, Row, changed_bits, is_tampered, order, other_lengths, works};
use crate::race::race;
use crate::samples::Samples;

/// A new wallet matches the order: ids, owner, time; the user's default, verified, created here (CH-2).
pub async fn a_new_wallet_is_as_ordered(house: House) {
    let mut samples = Samples::fresh();
    let worlds = house.worlds(&mut samples).await;
    for (world, wallet_type) in every_type_in(&worlds) {
        let user_id = samples.id(samples.now());
        let order = WalletOrder {
            wallet_type,
            ..order(&mut samples, world, user_id)
        };
        let made = house.custodian.create_wallet(order.clone()).await;
        let (StoredWallet { wallet, mac }, key) = works(made);
        let expected = Wallet {
            id: order.wallet_id,
            world,
            user_id,
            key_id: Some(order.key_id),
            wallet_type,
            public_address: wallet.public_address.clone(),
            verified: true,
            is_default: true,
            is_read_only: false,
            is_imported: false,
            account_index: None,
            disabled: None,
            created_at: order.created_at,
            updated_at: order.created_at,
        };
        assert!(
            wallet == expected,
            "the wallet differs from the order: {wallet:?}"
        );
        let length = match wallet_type {
            WalletType::Ethereum => {
                let digits = wallet.public_address.strip_prefix("0x").unwrap_or_default();
                assert!(digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
                33
            }
            WalletType::Bitcoin => 33,
            WalletType::Solana | WalletType::Polkadot | WalletType::Stellar => 32,
        };
        assert_eq!((key.id, key.wallet_id), (order.key_id, order.wallet_id));
        assert_eq!((key.public_key.len(), key.key_version), (length, 1));
        assert_eq!((mac.tag.len(), mac.key_version), (32, 1));
    }
}

/// Each wallet type in each world.
fn every_type_in(worlds: &[World]) -> impl Iterator<Item = (World, WalletType)> {
    let types = |world: &World| WalletType::ALL.map(|wallet_type| (*world, wallet_type));
    worlds.iter().flat_map(types)
}

/// All wallet types but the given one.
fn other_types(wallet_type: WalletType) -> impl Iterator<Item = WalletType> {
    let all = WalletType::ALL.into_iter();
    all.filter(move |other| *other != wallet_type)
}

fn of_bytes(message: &[u8]) -> SigningRequest {
    let digits = message.iter().map(|byte| format!("{byte:02x}"));
    SigningRequest::Message(MessageRequest {
        message: digits.collect(),
        encoding: Some("hex".to_owned()),
        format: None,
    })
}

/// A new wallet of any type is authentic, passes the integrity check and signs.
///
/// An Ethereum signature is `0x` and 65 bytes, and ends in 27 or 28.
pub async fn a_new_wallet_signs(house: House) {
    let mut samples = Samples::fresh();
    let worlds = house.worlds(&mut samples).await;
    for (world, wallet_type) in every_type_in(&worlds) {
        let row = house.wallet_typed(&mut samples, world, wallet_type).await;
        the_wallet_signs(&house, row).await;
    }
}

async fn the_wallet_signs(house: &House, (stored, key): Row) {
    let authentic = works(house.custodian.authenticate(stored.clone()).await);
    assert!(authentic == stored.wallet, "another record");
    works(
        house
            .custodian
            .verify_wallet(stored.clone(), key.clone())
            .await,
    );
    for message in [&b""[..], b"hello", &[0xff; 1_000]] {
        let request = of_bytes(message);
        let signed = house.custodian.sign(stored.clone(), key.clone(), &request);
        let (wallet, signed) = works(signed.await);
        assert!(wallet == stored.wallet, "another record");
        let signature = signed.text("signature").unwrap_or_default();
        assert!(signature.len() >= 86, "not a signature: {signature:?}");
        if wallet.wallet_type != WalletType::Ethereum {
            continue;
        }
        let digits = signature.strip_prefix("0x").unwrap_or_default();
        assert_eq!(digits.len(), 130);
        assert!(digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert!(digits.ends_with("1b") || digits.ends_with("1c"));
    }
}

/// No two wallets share an address, a key or any byte string around them (CH-2).
pub async fn every_wallet_has_a_key_of_its_own(house: House) {
    let mut samples = Samples::fresh();
    let mut seen = Vec::new();
    let worlds = house.worlds(&mut samples).await;
    for world in worlds.into_iter().cycle().take(40) {
        let (stored, key) = house.wallet(&mut samples, world).await;
        seen.push(stored.wallet.public_address.into_bytes());
        seen.push(stored.mac.tag);
        seen.push(key.public_key);
        seen.push(key.wrapped_data_key);
        seen.push(key.ciphertext);
    }
    let made = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), made);
}

/// Signing a message twice with one wallet gives the same signature (RFC 6979); another message or wallet gives another one.
pub async fn signatures_depend_on_wallet_and_message(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let (one, two) = (
        house.wallet(&mut samples, world).await,
        house.wallet(&mut samples, world).await,
    );
    let mut signatures = Vec::new();
    for ((stored, key), message) in [(&one, b"a"), (&one, b"a"), (&one, b"b"), (&two, b"a")] {
        let request = of_bytes(message);
        let signed = house.custodian.sign(stored.clone(), key.clone(), &request);
        signatures.push(works(signed.await).1);
    }
    let [first, again, other_message, other_wallet] = signatures.as_slice() else {
        panic!("expected four signatures");
    };
    assert_eq!(first, again);
    assert_ne!(first, other_message);
    assert_ne!(first, other_wallet);
}

/// A wallet, and one each of the same user, another user, the other environment, another App and another type.
async fn wallet_and_others(
    house: &House,
    samples: &mut Samples,
    wallet_type: WalletType,
) -> (Row, Vec<(&'static str, Row)>) {
    let [world, other_environment] = house.worlds(samples).await;
    let other_app = house.world(samples).await;
    let user_id = samples.id(samples.now());
    let stranger = samples.id(samples.now());
    let row = house.wallet_of(samples, world, user_id, wallet_type).await;
    let mut others = Vec::new();
    for (what, world, user_id) in [
        ("same user", world, user_id),
        ("other user", world, stranger),
        ("other environment", other_environment, user_id),
        ("other App", other_app, user_id),
    ] {
        let other = house.wallet_of(samples, world, user_id, wallet_type).await;
        others.push((what, other));
    }
    for other_type in other_types(wallet_type) {
        let other = house.wallet_of(samples, world, user_id, other_type).await;
        others.push(("other type", other));
    }
    (row, others)
}

/// The key of another wallet never signs for this one, nor does it under this wallet's ids (T1).
pub async fn a_key_in_the_place_of_another_does_not_sign(house: House) {
    let mut samples = Samples::fresh();
    for wallet_type in WalletType::ALL {
        let ((stored, key), others) = wallet_and_others(&house, &mut samples, wallet_type).await;
        for (whose, (_, other)) in others {
            house.refuses(&stored, &other, whose).await;
            let moved = WalletKey {
                id: key.id,
                wallet_id: key.wallet_id,
                ..other.clone()
            };
            house.refuses(&stored, &moved, whose).await;
            let disguised = WalletKey {
                public_key: key.public_key.clone(),
                ..moved
            };
            house.refuses(&stored, &disguised, whose).await;
        }
        house.accepts(&stored, &key).await;
    }
}

/// The data key or ciphertext of another wallet does not open with the other half of this one (T1, T3).
pub async fn parts_of_another_key_do_not_sign(house: House) {
    let mut samples = Samples::fresh();
    for wallet_type in WalletType::ALL {
        let ((stored, key), others) = wallet_and_others(&house, &mut samples, wallet_type).await;
        for (whose, (_, other)) in others {
            let ciphertext = WalletKey {
                ciphertext: other.ciphertext.clone(),
                ..key.clone()
            };
            house.refuses(&stored, &ciphertext, whose).await;
            let data_key = WalletKey {
                wrapped_data_key: other.wrapped_data_key.clone(),
                ..key.clone()
            };
            house.refuses(&stored, &data_key, whose).await;
            let public_key = WalletKey {
                public_key: other.public_key.clone(),
                ..key.clone()
            };
            house.refuses(&stored, &public_key, whose).await;
        }
        house.accepts(&stored, &key).await;
    }
}

/// A stored key with any bit flipped does not sign: ciphertext, data key, public key, format and version (T2, T3).
pub async fn a_changed_bit_of_a_key_does_not_sign(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    for wallet_type in WalletType::ALL {
        let row = house.wallet_typed(&mut samples, world, wallet_type).await;
        every_bit_counts(&house, row).await;
    }
}

async fn every_bit_counts(house: &House, (stored, key): Row) {
    for ciphertext in changed_bits(&key.ciphertext) {
        let key = WalletKey {
            ciphertext,
            ..key.clone()
        };
        house.refuses(&stored, &key, "ciphertext").await;
    }
    for wrapped_data_key in changed_bits(&key.wrapped_data_key) {
        let key = WalletKey {
            wrapped_data_key,
            ..key.clone()
        };
        house.refuses(&stored, &key, "data key").await;
    }
    for public_key in changed_bits(&key.public_key) {
        let key = WalletKey {
            public_key,
            ..key.clone()
        };
        house.refuses(&stored, &key, "public key").await;
    }
    for bit in 0..32 {
        let format = WalletKey {
            format: key.format ^ (1 << bit),
            ..key.clone()
        };
        house.refuses(&stored, &format, "format").await;
        let version = WalletKey {
            key_version: key.key_version ^ (1 << bit),
            ..key.clone()
        };
        house.refuses(&stored, &version, "version").await;
    }
    house.accepts(&stored, &key).await;
}

/// A stored key that is truncated, extended or empty does not sign, and nothing panics (T2).
pub async fn a_cut_or_lengthened_key_does_not_sign(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    for wallet_type in WalletType::ALL {
        let row = house.wallet_typed(&mut samples, world, wallet_type).await;
        every_length_counts(&house, row).await;
    }
}

async fn every_length_counts(house: &House, (stored, key): Row) {
    for ciphertext in other_lengths(&key.ciphertext) {
        let key = WalletKey {
            ciphertext,
            ..key.clone()
        };
        house.refuses(&stored, &key, "ciphertext").await;
    }
    for wrapped_data_key in other_lengths(&key.wrapped_data_key) {
        let key = WalletKey {
            wrapped_data_key,
            ..key.clone()
        };
        house.refuses(&stored, &key, "data key").await;
    }
    for public_key in other_lengths(&key.public_key) {
        let key = WalletKey {
            public_key,
            ..key.clone()
        };
        house.refuses(&stored, &key, "public key").await;
    }
    house.accepts(&stored, &key).await;
}

/// The row with one field edited, for every field that matters to custody.
fn edited_rows(row: &StoredWallet, other: &StoredWallet) -> Vec<(&'static str, StoredWallet)> {
    let edit = |what, change: &dyn Fn(&mut Wallet)| {
        let mut edited = row.clone();
        change(&mut edited.wallet);
        (what, edited)
    };
    let other = &other.wallet;
    let types = other_types(row.wallet.wallet_type);
    let types =
        types.map(|other_type| edit("wallet_type", &|wallet| wallet.wallet_type = other_type));
    let mut edited = vec![
        edit("id", &|wallet| wallet.id = other.id),
        edit("user_id", &|wallet| wallet.user_id = other.user_id),
        edit("key_id", &|wallet| wallet.key_id = other.key_id),
        edit("no key_id", &|wallet| wallet.key_id = None),
        edit("public_address", &|wallet| {
            wallet.public_address.clone_from(&other.public_address);
        }),
        edit("public_address in another case", &|wallet| {
            wallet.public_address = in_other_case(&wallet.public_address);
        }),
        edit("verified", &|wallet| wallet.verified = false),
        edit("is_default", &|wallet| wallet.is_default = false),
        edit("is_read_only", &|wallet| wallet.is_read_only = true),
        edit("is_imported", &|wallet| wallet.is_imported = true),
        edit("two flags", &|wallet| {
            (wallet.is_read_only, wallet.verified) = (true, false);
        }),
        edit("account_index", &|wallet| wallet.account_index = Some(0)),
        edit("disabled", &|wallet| {
            wallet.disabled = Some(Disabled {
                at: wallet.created_at,
                reason: DisabledReason::Requested,
            });
        }),
        edit("created_at", &|wallet| {
            wallet.created_at = wallet.created_at + Seconds(1);
        }),
    ];
    edited.extend(types);
    edited
}

/// The address in the other letter case. Some addresses have only capitals, some have none.
fn in_other_case(address: &str) -> String {
    let turned = |letter: char| match letter.is_ascii_uppercase() {
        true => letter.to_ascii_lowercase(),
        false => letter.to_ascii_uppercase(),
    };
    address.chars().map(turned).collect()
}

/// A wallet is authentic after each disabling and enabling; rows edited by hand in between are not (KEY-3).
pub async fn a_changed_wallet_is_authentic(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let (stored, _) = house.wallet(&mut samples, world).await;
    let at = samples.tick();
    let reason = DisabledReason::Requested;
    let disabled = Some(reason);
    let off = WalletChange { disabled, at };
    let disabled = works(house.custodian.change_wallet(stored.clone(), off).await);
    let expected = Wallet {
        disabled: Some(Disabled { at, reason }),
        updated_at: at,
        ..stored.wallet.clone()
    };
    assert!(disabled.wallet == expected, "another record");
    assert!(works(house.custodian.authenticate(disabled.clone()).await) == expected);
    let forgeries = [
        None,
        Some(Disabled {
            at: at + Seconds(1),
            reason,
        }),
        Some(Disabled {
            at,
            reason: DisabledReason::UnprovenOrigin,
        }),
    ];
    for forged in forgeries {
        let mut edited = disabled.clone();
        edited.wallet.disabled = forged;
        is_tampered(
            house.custodian.authenticate(edited.clone()).await,
            "disabled by hand",
        );
        let on = WalletChange { disabled: None, at };
        let changed = house.custodian.change_wallet(edited, on).await;
        is_tampered(changed, "a change on top of an edited row");
    }
    let on = WalletChange { disabled: None, at };
    let enabled = works(house.custodian.change_wallet(disabled, on).await);
    assert_eq!(
        enabled.mac, stored.mac,
        "an enabled wallet is sealed like one that was never disabled"
    );
}

/// CL-3: a wallet whose key may be known to someone else signs nothing and loses the default flag, also after it is enabled again.
pub async fn a_wallet_of_unproven_origin_loses_the_default(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let (stored, _) = house.wallet(&mut samples, world).await;
    assert!(stored.wallet.is_default, "the sample is a default wallet");
    let at = samples.tick();
    let reason = DisabledReason::UnprovenOrigin;
    let disabled = Some(reason);
    let off = WalletChange { disabled, at };
    let disabled = works(house.custodian.change_wallet(stored.clone(), off).await);
    let expected = Wallet {
        disabled: Some(Disabled { at, reason }),
        is_default: false,
        updated_at: at,
        ..stored.wallet.clone()
    };
    assert!(disabled.wallet == expected, "another record");
    let on = WalletChange { disabled: None, at };
    let enabled = works(house.custodian.change_wallet(disabled, on).await).wallet;
    assert!(enabled.disabled.is_none() && !enabled.is_default);
}

/// A wallet rewrapped under another version of the App key is unchanged; altered ones are not rewrapped (R17).
pub async fn a_rewrapped_wallet_signs_as_before(house: House) {
    let mut samples = Samples::fresh();
    for wallet_type in WalletType::ALL {
        let world = house.world(&mut samples).await;
        let row = house.wallet_typed(&mut samples, world, wallet_type).await;
        the_wallet_is_rewrapped(&house, &mut samples, row).await;
    }
}

async fn the_wallet_is_rewrapped(house: &House, samples: &mut Samples, (stored, key): Row) {
    let world = stored.wallet.world;
    let next = house
        .custodian
        .mint_app_key(&world, KeyPurpose::Wallets, 2, samples.tick());
    let next = works(next.await);
    house.add_app_key(&next).await;
    let rewrapped = house
        .custodian
        .rewrap_wallet(stored.clone(), Some(key.clone()), 2);
    let (fresh, fresh_key) = works(rewrapped.await);
    let Some(fresh_key) = fresh_key else {
        panic!("a wallet lost its key");
    };
    assert!(fresh.wallet == stored.wallet, "another record");
    assert_eq!((fresh.mac.key_version, fresh_key.key_version), (2, 2));
    assert_eq!(
        fresh_key.ciphertext, key.ciphertext,
        "the key was re-encrypted"
    );
    let request = of_bytes(b"hello");
    let before = house.custodian.sign(stored.clone(), key.clone(), &request);
    let after = house
        .custodian
        .sign(fresh.clone(), fresh_key.clone(), &request);
    let (before, after) = (works(before.await), works(after.await));
    // Polkadot signatures are randomized.
    let is_repeatable = stored.wallet.wallet_type != WalletType::Polkadot;
    assert!(!is_repeatable || before == after, "another signature");
    // A layer under one version is not a layer under the other.
    for (row, key) in [
        (
            fresh.clone(),
            WalletKey {
                key_version: 1,
                ..fresh_key.clone()
            },
        ),
        (
            stored.clone(),
            WalletKey {
                key_version: 2,
                ..key.clone()
            },
        ),
    ] {
        let signed = house.custodian.sign(row.clone(), key.clone(), &request);
        is_tampered(signed.await, "a foreign version");
        let again = house.custodian.rewrap_wallet(row, Some(key), 2);
        is_tampered(again.await, "rewrapped from a foreign version");
    }
    let mut edited = stored.clone();
    edited.wallet.is_default = !edited.wallet.is_default;
    let refused = house.custodian.rewrap_wallet(edited, Some(key.clone()), 2);
    is_tampered(refused.await, "an edited row");
    let keyless = house.custodian.rewrap_wallet(stored, None, 2);
    assert_eq!(works(keyless.await).0, fresh);
}

/// An edited row is rejected on reading and signing, whichever field was edited (T5, T6).
pub async fn an_edited_row_is_refused(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    for wallet_type in WalletType::ALL {
        let (stored, key) = house.wallet_typed(&mut samples, world, wallet_type).await;
        let (other, _) = house.wallet_typed(&mut samples, world, wallet_type).await;
        for (what, edited) in edited_rows(&stored, &other) {
            is_tampered(house.custodian.authenticate(edited.clone()).await, what);
            house.refuses(&edited, &key, what).await;
        }
        house.accepts(&stored, &key).await;
    }
}

/// The time of the last change decides nothing, and is not covered by the hash.
pub async fn a_time_of_change_is_not_sealed(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let (mut stored, key) = house.wallet(&mut samples, world).await;
    stored.wallet.updated_at = Timestamp::from_unix(0);
    let wallet = works(house.custodian.authenticate(stored.clone()).await);
    assert!(wallet == stored.wallet, "another record");
    house.accepts(&stored, &key).await;
}

/// A row is rejected if its hash was altered, truncated or taken from another row (T6).
pub async fn a_changed_hash_of_a_row_is_refused(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let (stored, key) = house.wallet(&mut samples, world).await;
    let (other, _) = house.wallet(&mut samples, world).await;
    let tag = &stored.mac.tag;
    let mut wrong: Vec<_> = changed_bits(tag).chain(other_lengths(tag)).collect();
    wrong.push(other.mac.tag);
    for tag in wrong {
        let mut edited = stored.clone();
        edited.mac.tag = tag;
        is_tampered(house.custodian.authenticate(edited.clone()).await, "hash");
        house.refuses(&edited, &key, "hash").await;
    }
    let mut edited = stored.clone();
    edited.mac.key_version = 2;
    is_tampered(
        house.custodian.authenticate(edited).await,
        "version of the hash",
    );
}

/// A row and its key that were moved together to the other environment or another App do not sign there (T1).
pub async fn a_row_moved_to_another_world_is_refused(house: House) {
    let mut samples = Samples::fresh();
    let [world, other_environment] = house.worlds(&mut samples).await;
    let other_app = house.world(&mut samples).await;
    for (stranger, wallet_type) in every_type_in(&[other_environment, other_app]) {
        let (stored, key) = house.wallet_typed(&mut samples, world, wallet_type).await;
        let mut moved = stored.clone();
        moved.wallet.world = stranger;
        is_tampered(house.custodian.authenticate(moved.clone()).await, "moved");
        house.refuses(&moved, &key, "moved").await;
    }
}

/// The record of an external address is authentic, read-only and without a key.
///
/// It is rejected when edited in any way, above all into a default wallet or another user's (T5, T6).
pub async fn an_adopted_address_is_authentic_and_has_no_key(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let created_at = samples.tick();
    let order = AddressOrder {
        wallet_id: samples.id(created_at),
        world,
        user_id: samples.id(created_at),
        wallet_type: WalletType::Solana,
        public_address: samples.letters(44),
        created_at,
    };
    let stored = works(house.custodian.adopt_address(order.clone()).await);
    let expected = Wallet {
        id: order.wallet_id,
        world,
        user_id: order.user_id,
        key_id: None,
        wallet_type: order.wallet_type,
        public_address: order.public_address,
        verified: true,
        is_default: false,
        is_read_only: true,
        is_imported: false,
        account_index: None,
        disabled: None,
        created_at,
        updated_at: created_at,
    };
    assert!(
        stored.wallet == expected,
        "the wallet differs from the order"
    );
    let authentic = works(house.custodian.authenticate(stored.clone()).await);
    assert!(authentic == expected, "another record");
    let (other, _) = house.wallet(&mut samples, world).await;
    for (what, edited) in edited_rows(&stored, &other) {
        // Some of the edits leave this row unchanged.
        if edited != stored {
            is_tampered(house.custodian.authenticate(edited).await, what);
        }
    }
}

/// A hundred parallel signatures by two wallets equal those made one after the other.
pub async fn parallel_signatures_are_all_right(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let mut expected = Vec::new();
    for _ in 0..2 {
        let (stored, key) = house.wallet(&mut samples, world).await;
        let request = of_bytes(b"message");
        let signed = house.custodian.sign(stored.clone(), key.clone(), &request);
        expected.push((stored, key, works(signed.await).1));
    }
    let signed =
        race(
            expected
                .iter()
                .cycle()
                .take(100)
                .cloned()
                .map(|(stored, key, right)| {
                    let custodian = Arc::clone(&house.custodian);
                    async move {
                        works(custodian.sign(stored, key, &of_bytes(b"message")).await).1 == right
                    }
                }),
        )
        .await;
    assert_eq!(signed, vec![true; 100]);
}
