//! Wallets: what signs, and what must not.

use std::collections::HashSet;

use vestry_contract::samples::other_environment;
use vestry_domain::envelope::{Place, SecretKind};
use vestry_domain::ids::{UserId, WalletKeyId};
use vestry_domain::wallet::{Disabled, DisabledReason, Wallet};
use vestry_ports::custody::{Sealer, WalletChange};

use super::*;
use crate::envelope::{self, Binding};

/// Yields each type this many times.
fn types(times: usize) -> impl Iterator<Item = WalletType> {
    WalletType::ALL.into_iter().cycle().take(times * 5)
}

/// Yields the types that the wallet does not have.
fn other_types(wallet_type: WalletType) -> impl Iterator<Item = WalletType> {
    let all = WalletType::ALL.into_iter();
    all.filter(move |other| *other != wallet_type)
}

/// Asserts that signing with this row and key is refused as tampering, with a single alarm.
async fn refused(custody: &Custody, stored: &StoredWallet, key: &WalletKey) {
    let alarms = custody.alarms();
    let outcome = custody
        .sign(stored.clone(), key.clone(), &SigningRequest::message("m"))
        .await;
    let of = stored.wallet.wallet_type;
    assert!(is_tampered(&outcome), "{of:?}: {outcome:?}");
    assert_eq!(custody.alarms(), alarms + 1);
}

async fn signs(custody: &Custody, wallet: &(StoredWallet, WalletKey)) {
    let (stored, key) = wallet.clone();
    custody
        .sign(stored, key, &SigningRequest::message("m"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_new_wallet_signs_for_its_address_and_reveals_no_key() {
    let mut house = House::new();
    let world = house.world().await;
    let order = house.order(world);
    let (stored, key) = house.custody.create_wallet(order.clone()).await.unwrap();

    let wallet = house.custody.authenticate(stored.clone()).await.unwrap();
    assert_eq!(wallet, stored.wallet);
    let expected = Wallet {
        id: order.wallet_id,
        world,
        user_id: order.user_id,
        key_id: Some(order.key_id),
        wallet_type: WalletType::Ethereum,
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
    assert_eq!(wallet, expected);

    let (_, signed) = house
        .custody
        .sign(
            stored.clone(),
            key.clone(),
            &SigningRequest::message("hello"),
        )
        .await
        .unwrap();
    let chains = Chains::new(&Secret::new([3; 32]));
    let chain = chains.get(WalletType::Ethereum);
    let (of, address) = (wallet.wallet_type, &wallet.public_address);
    let signature = signed.text("signature").unwrap();
    chains.verify_own(of, address, b"hello", signature).unwrap();
    assert_eq!(
        &chain.address(&key.public_key, world.environment).unwrap(),
        address
    );
    house.custody.verify_wallet(stored, key).await.unwrap();
    assert_eq!(house.custody.alarms(), 0);
}

#[tokio::test]
async fn another_process_reads_what_this_one_wrote() {
    let mut house = House::new();
    let world = house.world().await;
    let wallet = house.wallet(world).await;
    signs(&house.another_process(), &wallet).await;
}

#[tokio::test]
async fn two_wallets_share_no_key_and_no_data_key() {
    let mut house = House::new();
    let world = house.world().await;
    let mut seen = HashSet::new();
    for _ in 0..200 {
        let (stored, key) = house.wallet(world).await;
        assert!(seen.insert(stored.wallet.public_address.into_bytes()));
        assert!(seen.insert(key.public_key));
        assert!(seen.insert(key.wrapped_data_key));
        assert!(seen.insert(key.ciphertext));
    }
}

/// Returns every way of putting one wallet's encrypted layers into another wallet's row.
fn swaps(own: &WalletKey, other: &WalletKey) -> Vec<WalletKey> {
    let layers = |public_key: &WalletKey, data_key: &WalletKey, body: &WalletKey| WalletKey {
        public_key: public_key.public_key.clone(),
        wrapped_data_key: data_key.wrapped_data_key.clone(),
        ciphertext: body.ciphertext.clone(),
        ..own.clone()
    };
    vec![
        layers(other, other, other),
        layers(own, other, other),
        layers(own, own, other),
        layers(own, other, own),
        // The other row unchanged, and with our ids in place of its own.
        other.clone(),
        WalletKey {
            wallet_id: own.wallet_id,
            ..other.clone()
        },
        WalletKey {
            id: own.id,
            ..other.clone()
        },
    ]
}

/// T1, T3: the five kinds, 200 of each, 40 per type.
#[tokio::test]
async fn t1_t3_the_layers_of_one_wallet_do_not_open_in_the_row_of_another() {
    let mut house = House::new();
    let world = house.world().await;
    let elsewhere = house.world().await;
    let mut alarms = 0;
    for (round, wallet_type) in types(40).enumerate() {
        let own = house.wallet_of(world, wallet_type).await;
        let user_id = own.0.wallet.user_id;
        let same_user = WalletOrder {
            user_id,
            ..house.order_of(world, wallet_type)
        };
        let other_type = other_types(wallet_type).nth(round / 5 % 4).unwrap();
        let other_type = WalletOrder {
            user_id,
            ..house.order_of(world, other_type)
        };
        let others = [
            house.custody.create_wallet(same_user).await.unwrap(),
            house.wallet_of(world, wallet_type).await,
            house.wallet_of(elsewhere, wallet_type).await,
            house.wallet_of(other_environment(world), wallet_type).await,
            house.custody.create_wallet(other_type).await.unwrap(),
        ];
        for other in &others {
            for swapped in swaps(&own.1, &other.1) {
                let (stored, request) = (own.0.clone(), SigningRequest::message("m"));
                let signed = house.custody.sign(stored, swapped, &request).await;
                assert!(signed.is_err(), "T1: the key of another wallet signed");
                assert!(is_tampered(&signed), "{wallet_type:?}: {signed:?}");
                alarms += 1;
                assert_eq!(house.custody.alarms(), alarms);
            }
            // Neither wallet is affected by the attempts.
            if round < 5 {
                signs(&house.custody, &own).await;
                signs(&house.custody, other).await;
            }
        }
    }
}

/// The row names its key. Another valid key of this same wallet is not accepted instead, nor is the right one if it claims to belong to
/// another wallet.
#[tokio::test]
async fn only_the_key_that_the_row_names_signs() {
    let mut house = House::new();
    let world = house.world().await;
    let (stored, key) = house.wallet(world).await;
    let (stranger, _) = house.wallet(world).await;
    let elsewhere = WalletKey {
        wallet_id: stranger.wallet.id,
        ..key.clone()
    };
    refused(&house.custody, &stored, &elsewhere).await;

    let chain = house.custody.chains.get(WalletType::Ethereum);
    let keys = house.custody.wallet_keys.version(&world, 1).await.unwrap();
    let second = WalletKey {
        id: house.samples.id(stored.wallet.created_at),
        ..key.clone()
    };
    let binding = Binding::of(&stored.wallet, &second);
    let private_key = chain.private_key(&[7; 32]).unwrap();
    let layers = envelope::seal(&keys, house.entropy.as_ref(), &binding, &private_key).unwrap();
    let second = WalletKey {
        wrapped_data_key: layers.wrapped_data_key,
        ciphertext: layers.ciphertext,
        ..second
    };
    let binding = Binding::of(&stored.wallet, &second);
    let opened = envelope::open(
        &keys,
        &binding,
        &second.wrapped_data_key,
        &second.ciphertext,
    );
    assert!(opened.is_ok());
    refused(&house.custody, &stored, &second).await;
    signs(&house.custody, &(stored, key)).await;
}

/// The decrypted key does not match the stored public key. Everything authenticates, since it was sealed like that, and still no signature
/// is returned (CH-8).
#[tokio::test]
async fn a_signature_that_does_not_fit_the_stored_public_key_is_withheld() {
    let mut house = House::new();
    let world = house.world().await;
    let (stored, key) = house.wallet(world).await;
    let chain = house.custody.chains.get(WalletType::Ethereum);
    let keys = house.custody.wallet_keys.version(&world, 1).await.unwrap();
    let binding = Binding::of(&stored.wallet, &key);
    let wrong = chain.private_key(&[7; 32]).unwrap();
    let layers = envelope::seal(&keys, house.entropy.as_ref(), &binding, &wrong).unwrap();
    let key = WalletKey {
        wrapped_data_key: layers.wrapped_data_key,
        ciphertext: layers.ciphertext,
        ..key
    };
    let outcome = house
        .custody
        .sign(stored.clone(), key.clone(), &SigningRequest::message("m"))
        .await;
    assert!(matches!(outcome, Err(CustodyError::Failed(_))));
    assert!(is_tampered(&house.custody.verify_wallet(stored, key).await));
}

/// T1: the whole record, row and key, moved to another App or environment.
#[tokio::test]
async fn t1_a_whole_record_does_not_move_to_another_world() {
    let mut house = House::new();
    let world = house.world().await;
    let elsewhere = house.world().await;
    for wallet_type in types(1) {
        for target in [elsewhere, other_environment(world)] {
            // The target's App key is cached.
            house.wallet_of(target, wallet_type).await;
            let (mut stored, key) = house.wallet_of(world, wallet_type).await;
            stored.wallet.world = target;
            refused(&house.custody, &stored, &key).await;
        }
    }
}

/// T2: for each type, each bit of one record, each length, an appended byte, and 10,000 random alterations in total. All give the same
/// error.
#[tokio::test]
async fn t2_no_altered_bit_and_no_other_length_opens() {
    let mut house = House::new();
    let world = house.world().await;
    for wallet_type in types(1) {
        let (stored, key) = house.wallet_of(world, wallet_type).await;
        for attempt in alterations(&key, &mut house.samples) {
            let request = SigningRequest::message("m");
            let outcome = house.custody.sign(stored.clone(), attempt, &request).await;
            assert!(
                matches!(
                    outcome,
                    Err(CustodyError::Tampered {
                        place: "wallet key"
                    })
                ),
                "{wallet_type:?}: {outcome:?}"
            );
        }
        signs(&house.custody, &(stored, key)).await;
    }
}

fn alterations(key: &WalletKey, samples: &mut Samples) -> Vec<WalletKey> {
    let wrapped = key.wrapped_data_key.clone();
    let body = key.ciphertext.clone();
    let altered = |wrapped_data_key: Vec<u8>, ciphertext: Vec<u8>| WalletKey {
        wrapped_data_key,
        ciphertext,
        ..key.clone()
    };
    let mut attempts = Vec::new();
    for bit in 0..wrapped.len() * 8 {
        attempts.push(altered(flipped(&wrapped, bit), body.clone()));
    }
    for bit in 0..body.len() * 8 {
        attempts.push(altered(wrapped.clone(), flipped(&body, bit)));
    }
    for bit in 0..key.public_key.len() * 8 {
        attempts.push(WalletKey {
            public_key: flipped(&key.public_key, bit),
            ..key.clone()
        });
    }
    for length in 0..wrapped.len() {
        attempts.push(altered(wrapped[..length].to_vec(), body.clone()));
    }
    for length in 0..body.len() {
        attempts.push(altered(wrapped.clone(), body[..length].to_vec()));
    }
    for extra in 0..=u8::MAX {
        attempts.push(altered(
            [wrapped.as_slice(), &[extra]].concat(),
            body.clone(),
        ));
        attempts.push(altered(
            wrapped.clone(),
            [body.as_slice(), &[extra]].concat(),
        ));
    }
    for _ in 0..2_000 {
        let mut both = [wrapped.as_slice(), &body].concat();
        for _ in 0..=samples.below(8) {
            let place = samples.below(both.len());
            let add = u8::try_from(1 + samples.below(255)).unwrap();
            both[place] = both[place].wrapping_add(add);
        }
        let (front, back) = both.split_at(wrapped.len());
        if front != wrapped || back != body {
            attempts.push(altered(front.to_vec(), back.to_vec()));
        }
    }
    attempts
}

fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

/// T3: another format or App key version, existing or not.
#[tokio::test]
async fn t3_another_format_or_key_version_does_not_open() {
    for wallet_type in types(1) {
        other_versions_of(wallet_type).await;
    }
}

async fn other_versions_of(wallet_type: WalletType) {
    let mut house = House::new();
    let world = house.world().await;
    let old = house.wallet_of(world, wallet_type).await;
    house.add_version(world, KeyPurpose::Wallets, 2).await;
    let custody = house.another_process();
    let order = house.order_of(world, wallet_type);
    let new = custody.create_wallet(order).await.unwrap();
    assert_eq!((old.1.key_version, new.1.key_version), (1, 2));
    signs(&custody, &old).await;
    signs(&custody, &new).await;
    for (wallet, versions) in [(&old, [2, 0, 3, u32::MAX]), (&new, [1, 0, 3, u32::MAX])] {
        for key_version in versions {
            let key = WalletKey {
                key_version,
                ..wallet.1.clone()
            };
            refused(&custody, &wallet.0, &key).await;
            let mut stored = wallet.0.clone();
            stored.mac.key_version = key_version;
            refused(&custody, &stored, &wallet.1).await;
        }
        for format in [0, 2, u32::MAX] {
            let key = WalletKey {
                format,
                ..wallet.1.clone()
            };
            refused(&custody, &wallet.0, &key).await;
        }
    }
}

/// T3: a sealed secret is not accepted as a wallet key, and vice versa.
#[tokio::test]
async fn t3_keys_of_one_purpose_open_nothing_of_another() {
    let mut house = House::new();
    let world = house.world().await;
    for wallet_type in types(20) {
        let (stored, key) = house.wallet_of(world, wallet_type).await;
        let owner = key.id.to_string();
        let place = Place {
            world,
            kind: SecretKind::SigningKey,
            owner: &owner,
        };
        let secret = house.samples.key();
        let sealed = house.custody.seal(place, &secret).await.unwrap();
        for body in [sealed.bytes.clone(), sealed.bytes[16..].to_vec()] {
            for key in [
                WalletKey {
                    wrapped_data_key: body.clone(),
                    ..key.clone()
                },
                WalletKey {
                    ciphertext: body,
                    ..key.clone()
                },
            ] {
                refused(&house.custody, &stored, &key).await;
            }
        }
        for bytes in [key.wrapped_data_key, key.ciphertext] {
            let outcome = house
                .custody
                .open(
                    place,
                    &vestry_domain::envelope::Sealed {
                        bytes,
                        ..sealed.clone()
                    },
                )
                .await;
            assert!(is_tampered(&outcome));
        }
    }
}

type Change = fn(&mut Wallet, &mut Samples);

/// T4: a record rolled back as a whole to its own older state is not detected, as docs/security.md says: that needs a counter outside of
/// the database. A partial rollback is detected.
#[tokio::test]
async fn t4_only_a_partial_rollback_of_a_record_is_detected() {
    let mut house = House::new();
    let world = house.world().await;
    let mut wallets = Vec::new();
    for wallet_type in types(10) {
        wallets.push(house.wallet_of(world, wallet_type).await);
    }
    house.add_version(world, KeyPurpose::Wallets, 2).await;
    for (row, key) in wallets {
        let at = house.samples.tick();
        let disabled = Some(DisabledReason::Requested);
        let off = WalletChange { disabled, at };
        let disabled = house.custody.change_wallet(row.clone(), off).await.unwrap();
        signs(&house.custody, &(row.clone(), key.clone())).await;
        let half = StoredWallet {
            mac: disabled.mac,
            ..row.clone()
        };
        refused(&house.custody, &half, &key).await;

        let rewrapped = house.custody.rewrap_wallet(row, Some(key.clone()), 2);
        let (row, new_key) = rewrapped.await.unwrap();
        signs(&house.custody, &(row.clone(), key.clone())).await;
        let half = WalletKey {
            wrapped_data_key: key.wrapped_data_key,
            ..new_key.unwrap()
        };
        refused(&house.custody, &row, &half).await;
    }
}

/// T5: every field that decides who can sign what with which key, including each other type (T1, fifth kind).
#[tokio::test]
async fn t5_a_changed_field_of_the_row_is_refused_on_read_and_on_signing() {
    let changes: [(&str, Change); 12] = [
        ("wallet_type", |wallet, samples| {
            let others: Vec<_> = other_types(wallet.wallet_type).collect();
            wallet.wallet_type = samples.pick(&others);
        }),
        ("user_id", |wallet, samples| {
            wallet.user_id = samples.id::<UserId>(wallet.created_at);
        }),
        ("is_imported", |wallet, _| wallet.is_imported = true),
        ("disabled", |wallet, samples| {
            wallet.disabled = Some(Disabled {
                at: samples.moment(),
                reason: DisabledReason::Requested,
            });
        }),
        ("account_index", |wallet, samples| {
            wallet.account_index = Some(samples.version());
        }),
        ("verified", |wallet, _| wallet.verified = false),
        ("is_default", |wallet, _| wallet.is_default = false),
        ("is_read_only", |wallet, _| wallet.is_read_only = true),
        ("key_id", |wallet, samples| {
            wallet.key_id = Some(samples.id::<WalletKeyId>(wallet.created_at));
        }),
        ("no key_id", |wallet, _| wallet.key_id = None),
        ("id", |wallet, samples| {
            wallet.id = samples.id(wallet.created_at);
        }),
        ("created_at", |wallet, samples| {
            wallet.created_at = samples.tick();
        }),
    ];
    let mut house = House::new();
    let world = house.world().await;
    for wallet_type in types(40) {
        let (stored, key) = house.wallet_of(world, wallet_type).await;
        for (field, change) in changes {
            let mut altered = stored.clone();
            change(&mut altered.wallet, &mut house.samples);
            assert_ne!(altered, stored, "{field}");
            let read = house.custody.authenticate(altered.clone()).await;
            assert!(is_tampered(&read), "{field}");
            refused(&house.custody, &altered, &key).await;
        }
    }
}

/// T6: only the address is changed.
#[tokio::test]
async fn t6_a_changed_address_is_refused_on_read_on_signing_and_on_checking() {
    let mut house = House::new();
    let world = house.world().await;
    for (round, wallet_type) in types(40).enumerate() {
        let (stored, key) = house.wallet_of(world, wallet_type).await;
        let (decoy, _) = house.wallet_of(world, wallet_type).await;
        let mut altered = stored.clone();
        altered.wallet.public_address = match round / 5 % 3 {
            0 => decoy.wallet.public_address,
            1 => in_other_case(&stored.wallet.public_address),
            _ => String::new(),
        };
        let read = house.custody.authenticate(altered.clone()).await;
        assert!(is_tampered(&read));
        refused(&house.custody, &altered, &key).await;
        let checked = house.custody.verify_wallet(altered, key).await;
        assert!(is_tampered(&checked));
    }
}

/// Some addresses consist of upper-case letters only, some have none.
fn in_other_case(address: &str) -> String {
    let turned = |letter: char| match letter.is_ascii_uppercase() {
        true => letter.to_ascii_lowercase(),
        false => letter.to_ascii_uppercase(),
    };
    address.chars().map(turned).collect()
}

#[tokio::test]
async fn an_altered_keyed_hash_of_a_row_is_refused() {
    let mut house = House::new();
    let world = house.world().await;
    let (stored, _) = house.wallet(world).await;
    let (other, _) = house.wallet(world).await;
    let tag = stored.mac.tag.clone();
    let mut tags: Vec<Vec<u8>> = (0..tag.len() * 8).map(|bit| flipped(&tag, bit)).collect();
    tags.extend((0..tag.len()).map(|length| tag[..length].to_vec()));
    tags.push([tag.as_slice(), &[0]].concat());
    tags.push(other.mac.tag);
    for tag in tags {
        let mut altered = stored.clone();
        altered.mac.tag = tag;
        let read = house.custody.authenticate(altered).await;
        assert!(is_tampered(&read));
    }
}

/// Fields that decide nothing can change without a new hash.
#[tokio::test]
async fn the_time_of_the_last_change_is_not_covered() {
    let mut house = House::new();
    let world = house.world().await;
    let (mut stored, key) = house.wallet(world).await;
    stored.wallet.updated_at = house.samples.tick();
    signs(&house.custody, &(stored, key)).await;
}

/// T8: the database without its key provider.
#[tokio::test]
async fn t8_a_dump_opens_nothing_under_another_root_key() {
    for wallet_type in types(1) {
        a_dump_opens_nothing_of(wallet_type).await;
    }
}

async fn a_dump_opens_nothing_of(wallet_type: WalletType) {
    let mut house = House::new();
    let world = house.world().await;
    let (stored, key) = house.wallet_of(world, wallet_type).await;
    let thief = Custody::new(
        vaults(&Arc::new(TestVault::new())),
        Arc::new(house.store.clone()),
        house.entropy.clone(),
    )
    .unwrap();
    assert!(is_tampered(&thief.authenticate(stored.clone()).await));
    assert!(is_tampered(
        &thief.sign(stored, key, &SigningRequest::message("m")).await
    ));
    let order = house.order_of(world, wallet_type);
    assert!(is_tampered(&thief.create_wallet(order).await));
}
