//! App keys, wrapped under the root key.

use std::pin::Pin;
use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::envelope::{AppKey, KeyPurpose, WrappedKey};
use vestry_domain::wallet::WalletType;
use vestry_ports::store::Store;

use super::stage::{Stage, works};
use crate::race::{count, race};
use crate::samples::{Samples, other_environment};

impl Stage {
    async fn app_key(&mut self, world: World, purpose: KeyPurpose, version: u32) -> AppKey {
        let key = self.samples.app_key(world, purpose, version);
        in_tx!(self.store, |tx| tx.app_keys().insert(&key).await);
        key
    }

    async fn app_key_of(&self, key: &AppKey) -> Option<AppKey> {
        in_view!(self.store, |view| view
            .app_keys()
            .find(&key.world, key.purpose, key.version)
            .await)
    }
}

/// Every field of a key is read back unchanged.
pub async fn a_key_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for purpose in KeyPurpose::ALL {
        for version in [1, 2, u32::MAX] {
            let key = stage.app_key(world, purpose, version).await;
            assert_eq!(stage.app_key_of(&key).await, Some(key));
        }
    }
}

/// World, purpose and version identify one key; a second one is an error.
pub async fn a_version_is_added_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let key = stage.app_key(world, KeyPurpose::Wallets, 1).await;
    let twin = stage.samples.app_key(world, KeyPurpose::Wallets, 1);
    let mut tx = works(stage.store.begin().await);
    assert!(
        tx.app_keys().insert(&twin).await.is_err(),
        "a second key of the same version"
    );
    drop(tx);
    assert_eq!(stage.app_key_of(&key).await, Some(key));
}

/// A key is found only in its own world, under its own purpose and version (I11).
pub async fn a_key_stays_in_its_place(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let key = stage.app_key(world, KeyPurpose::Wallets, 2).await;
    let mut places = vec![
        (world, KeyPurpose::Secrets, 2),
        (world, KeyPurpose::Wallets, 1),
    ];
    places.extend(
        stage
            .strangers(world)
            .await
            .map(|stranger| (stranger, key.purpose, 2)),
    );
    for (world, purpose, version) in places {
        let found = in_view!(stage.store, |view| view
            .app_keys()
            .find(&world, purpose, version)
            .await);
        assert_eq!(found, None);
    }
    for stranger in stage.strangers(world).await {
        let newest = in_view!(stage.store, |view| view
            .app_keys()
            .newest(&stranger, key.purpose)
            .await);
        assert_eq!(newest, None);
    }
}

/// The newest key is the one with the numerically highest version, whenever it was added.
pub async fn the_newest_key_has_the_highest_version(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut highest = None;
    for version in [1, 10, 2, 9] {
        let key = stage.app_key(world, KeyPurpose::Secrets, version).await;
        if version == 10 {
            highest = Some(key);
        }
    }
    stage.app_key(world, KeyPurpose::Wallets, 11).await;
    stage
        .app_key(other_environment(world), KeyPurpose::Secrets, 12)
        .await;
    let newest = in_view!(stage.store, |view| view
        .app_keys()
        .newest(&world, KeyPurpose::Secrets)
        .await);
    assert_eq!(newest, highest);
}

/// Of parallel additions of a version one succeeds; the others learn that it exists.
pub async fn parallel_additions_of_a_version_count_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let keys = (0..20).map(|_| stage.samples.app_key(world, KeyPurpose::Wallets, 7));
    let keys: Vec<_> = keys.collect();
    let added = race(keys.iter().cloned().map(|key| {
        let store = Arc::clone(&stage.store);
        async move { in_tx!(store, |tx| tx.app_keys().add(&key).await) }
    }));
    let added = added.await;
    assert_eq!(count(&added, &true), 1);
    let winner = added.iter().zip(keys).find(|(won, _)| **won);
    let newest = in_view!(stage.store, |view| view
        .app_keys()
        .newest(&world, KeyPurpose::Wallets)
        .await);
    assert_eq!(newest, winner.map(|(_, key)| key));
}

/// The versions below another are listed for that key alone, and each removal removes only one of them.
pub async fn a_version_is_removed_alone(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut kept = Vec::new();
    for (of, purpose, version, goes) in [
        (world, KeyPurpose::Wallets, 1, true),
        (world, KeyPurpose::Wallets, 2, true),
        (world, KeyPurpose::Wallets, 3, false),
        (world, KeyPurpose::Secrets, 1, false),
        (other_environment(world), KeyPurpose::Wallets, 1, false),
    ] {
        let key = stage.samples.app_key(of, purpose, version);
        let added = in_tx!(stage.store, |tx| tx.app_keys().add(&key).await);
        assert!(added);
        if !goes {
            kept.push(key);
        }
    }
    for expected in [vec![1, 2], vec![]] {
        let mut tx = works(stage.store.begin().await);
        let keys = tx.app_keys();
        let below = works(keys.lock_below(&world, KeyPurpose::Wallets, 3).await);
        let versions: Vec<_> = below.iter().map(|key| key.version).collect();
        assert_eq!(versions, expected);
        for version in [1, 2] {
            let gone = works(keys.remove(&world, KeyPurpose::Wallets, version).await);
            assert_eq!(gone, !expected.is_empty());
        }
        works(tx.commit().await);
    }
    let mut left = in_view!(stage.store, |view| view.app_keys().all().await);
    let place = |key: &AppKey| (key.world.to_string(), key.purpose, key.version);
    left.sort_by_key(place);
    kept.sort_by_key(place);
    assert_eq!(left, kept);
}

/// If a wallet is stored while the key above it is removed, either the wallet sees that the key is gone or the remover sees the wallet
/// (R17).
pub async fn a_key_is_not_removed_under_what_holds_it(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    for round in 0..20 {
        let world = stage.world().await;
        let user = stage.user(world).await;
        for version in [1, 2] {
            stage.app_key(world, KeyPurpose::Wallets, version).await;
        }
        let (mut stored, mut key) = stage.samples.wallet(&user, WalletType::Solana);
        (stored.mac.key_version, key.key_version) = (1, 1);
        let (to, from) = (Arc::clone(&stage.store), Arc::clone(&stage.store));
        let stores: Pin<Box<dyn Future<Output = bool> + Send>> = Box::pin(async move {
            let mut tx = works(to.begin().await);
            let keys = tx.app_keys();
            let held = works(keys.hold(&world, KeyPurpose::Wallets, 1).await);
            if held {
                works(tx.wallets().insert(&stored, &key).await);
                works(tx.commit().await);
            }
            held
        });
        let removes: Pin<Box<dyn Future<Output = bool> + Send>> = Box::pin(async move {
            let mut tx = works(from.begin().await);
            let keys = tx.app_keys();
            works(keys.lock_below(&world, KeyPurpose::Wallets, 2).await);
            let standing = works(keys.references_below(&world, KeyPurpose::Wallets, 2).await);
            if standing.is_empty() {
                works(keys.remove(&world, KeyPurpose::Wallets, 1).await);
                works(tx.commit().await);
            }
            standing.is_empty()
        });
        let outcomes = race([stores, removes]).await;
        assert_eq!(
            count(&outcomes, &true),
            1,
            "round {round}: exactly one wins"
        );
        let held = in_tx!(stage.store, |tx| tx
            .app_keys()
            .hold(&world, KeyPurpose::Wallets, 1)
            .await);
        let stored = outcomes.first() == Some(&true);
        assert_eq!(
            held, stored,
            "round {round}: the wallet and its key go together"
        );
    }
}

/// A root version can be pinned through a key under it, and also where there is no key of the purpose.
pub async fn a_root_version_is_held_by_a_key_under_it(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut key = stage.samples.app_key(world, KeyPurpose::Wallets, 1);
    key.wrapped.root_version = 7;
    in_tx!(stage.store, |tx| tx.app_keys().insert(&key).await);
    for (purpose, root_version, expected) in [
        (KeyPurpose::Wallets, 7, true),
        (KeyPurpose::Wallets, 6, false),
        (KeyPurpose::Wallets, 8, false),
        (KeyPurpose::Secrets, 7, true),
    ] {
        let held = in_tx!(stage.store, |tx| tx
            .app_keys()
            .hold_root(purpose, root_version)
            .await);
        assert_eq!(held, expected, "{purpose} under {root_version}");
    }
}

/// A key added while the others are rewrapped under a new root key is found by the rewrapping, or is not added (R17).
pub async fn a_root_version_does_not_go_under_what_holds_it(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let sample = |samples: &mut Samples, version, root_version| {
        let mut key = samples.app_key(world, KeyPurpose::Wallets, version);
        key.wrapped.root_version = root_version;
        key
    };
    let first = sample(&mut stage.samples, 1, 1);
    in_tx!(stage.store, |tx| tx.app_keys().insert(&first).await);
    for root in 1..=30 {
        let late = sample(&mut stage.samples, root + 1, root);
        let (to, from) = (Arc::clone(&stage.store), Arc::clone(&stage.store));
        let adds: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            let mut tx = works(to.begin().await);
            let keys = tx.app_keys();
            if works(keys.hold_root(late.purpose, root).await) {
                works(keys.insert(&late).await);
                works(tx.commit().await);
            }
        });
        let rotates: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            loop {
                let mut old = in_view!(from, |view| view.app_keys().all().await);
                old.retain(|key| key.wrapped.root_version <= root);
                if old.is_empty() {
                    return;
                }
                for key in old {
                    let fresh = WrappedKey {
                        root_version: root + 1,
                        bytes: key.wrapped.bytes.clone(),
                    };
                    in_tx!(from, |tx| tx.app_keys().rewrap(&key, root, &fresh).await);
                }
            }
        });
        race([adds, rotates]).await;
        let keys = in_view!(stage.store, |view| view.app_keys().all().await);
        let mut roots = keys.iter().map(|key| key.wrapped.root_version);
        assert!(
            roots.all(|under| under == root + 1),
            "a key is left under {root}"
        );
    }
}

/// All keys of all Apps are listed in a stable order.
pub async fn all_keys_are_listed_in_a_stable_order(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let mut added = Vec::new();
    for _ in 0..3 {
        let world = stage.world().await;
        for world in [world, other_environment(world)] {
            for purpose in KeyPurpose::ALL {
                added.push(stage.app_key(world, purpose, 1).await);
            }
        }
    }
    let first = in_view!(stage.store, |view| view.app_keys().all().await);
    let second = in_view!(stage.store, |view| view.app_keys().all().await);
    assert_eq!(first, second);
    assert_eq!(first.len(), added.len());
    assert!(added.iter().all(|key| first.contains(key)));
}

/// A rewrap replaces only the wrapping that the caller saw, once, and touches no other key (R17).
pub async fn a_key_is_rewrapped_from_the_version_seen(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut key = stage.samples.app_key(world, KeyPurpose::Wallets, 1);
    key.wrapped.root_version = 4;
    in_tx!(stage.store, |tx| tx.app_keys().insert(&key).await);
    let mut bystanders = Vec::new();
    for (world, purpose, version) in [
        (world, KeyPurpose::Wallets, 2),
        (world, KeyPurpose::Secrets, 1),
        (other_environment(world), KeyPurpose::Wallets, 1),
    ] {
        let mut other = stage.samples.app_key(world, purpose, version);
        other.wrapped.root_version = 4;
        in_tx!(stage.store, |tx| tx.app_keys().insert(&other).await);
        bystanders.push(other);
    }
    let mut to = stage.samples.wrapped_key();
    to.root_version = 5;
    for (from, expected) in [(3, false), (5, false), (4, true), (4, false)] {
        let done = in_tx!(stage.store, |tx| tx
            .app_keys()
            .rewrap(&key, from, &to)
            .await);
        assert_eq!(done, expected, "from {from}");
    }
    let expected = AppKey {
        wrapped: to,
        ..key.clone()
    };
    assert_eq!(stage.app_key_of(&key).await, Some(expected));
    for other in bystanders {
        assert_eq!(stage.app_key_of(&other).await, Some(other));
    }
}

/// Rewrapping a key that does not exist does nothing.
pub async fn an_unknown_key_is_not_rewrapped(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let key = stage.app_key(world, KeyPurpose::Wallets, 1).await;
    for stranger in stage.strangers(world).await {
        let key = AppKey {
            world: stranger,
            ..key.clone()
        };
        let (from, to) = (key.wrapped.root_version, stage.samples.wrapped_key());
        let done = in_tx!(stage.store, |tx| tx
            .app_keys()
            .rewrap(&key, from, &to)
            .await);
        assert!(!done);
    }
    assert_eq!(stage.app_key_of(&key).await, Some(key));
}

/// Of twenty processes that rewrap the same key in parallel exactly one succeeds, and its wrapping stays (R17).
pub async fn parallel_rewraps_count_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut key = stage.samples.app_key(world, KeyPurpose::Wallets, 1);
    key.wrapped.root_version = 1;
    in_tx!(stage.store, |tx| tx.app_keys().insert(&key).await);
    let wrappings = (0..20).map(|_| {
        let mut to = stage.samples.wrapped_key();
        to.root_version = 2;
        to
    });
    let wrappings: Vec<_> = wrappings.collect();
    let done = race(wrappings.iter().cloned().map(|to| {
        let (store, key) = (Arc::clone(&stage.store), key.clone());
        async move { in_tx!(store, |tx| tx.app_keys().rewrap(&key, 1, &to).await) }
    }))
    .await;
    assert_eq!(count(&done, &true), 1);
    let winner = done.iter().zip(wrappings).find(|(done, _)| **done);
    let stored = stage.app_key_of(&key).await;
    assert_eq!(stored.map(|key| key.wrapped), winner.map(|(_, to)| to));
}
