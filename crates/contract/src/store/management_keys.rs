//! Keys of the management API.

use std::sync::Arc;

use vestry_domain::management_key::ManagementKey;
use vestry_domain::timestamp::Seconds;
use vestry_ports::store::Store;

use super::stage::{Stage, works};
use crate::race::{count, race};

impl Stage {
    async fn management_key(&mut self) -> ManagementKey {
        let key = self.samples.management_key();
        in_tx!(self.store, |tx| tx.management_keys().insert(&key).await);
        key
    }
}

/// Every field of a key is read back unchanged by its hash, and no other hash finds it.
pub async fn a_key_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    for _ in 0..20 {
        let key = stage.management_key().await;
        let mut other = key.hash;
        other.0[31] ^= 1;
        for (hash, expected) in [(key.hash, Some(key)), (other, None)] {
            let found = in_view!(stage.store, |view| view
                .management_keys()
                .find_by_hash(&hash)
                .await);
            assert_eq!(found, expected);
        }
    }
}

/// The same hash twice is an error.
pub async fn a_hash_belongs_to_one_key(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let key = stage.management_key().await;
    let twin = ManagementKey {
        hash: key.hash,
        ..stage.samples.management_key()
    };
    let mut tx = works(stage.store.begin().await);
    assert!(tx.management_keys().insert(&twin).await.is_err(), "twice");
}

/// All keys are listed, oldest first, in whatever order they were added.
pub async fn keys_are_listed_oldest_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let keys: Vec<_> = (0..8).map(|_| stage.samples.management_key()).collect();
    for key in stage.samples.shuffled(&keys) {
        in_tx!(stage.store, |tx| tx.management_keys().insert(key).await);
    }
    let listed = in_view!(stage.store, |view| view.management_keys().list().await);
    assert_eq!(listed, keys);
}

/// A key is revoked once and stays in the list; an unknown key cannot be revoked.
pub async fn a_key_is_revoked_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let key = stage.management_key().await;
    let unknown = stage.samples.management_key();
    let at = key.created_at + Seconds(60);
    for (id, at, expected) in [
        (unknown.id, at, false),
        (key.id, at, true),
        (key.id, at + Seconds(1), false),
    ] {
        let revoked = in_tx!(stage.store, |tx| tx.management_keys().revoke(id, at).await);
        assert_eq!(revoked, expected, "{id}");
    }
    let listed = in_view!(stage.store, |view| view.management_keys().list().await);
    let revoked = ManagementKey {
        revoked_at: Some(at),
        ..key
    };
    assert_eq!(listed, [revoked]);
}

/// Of parallel revocations one counts.
pub async fn parallel_revocations_count_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (key, at) = (stage.management_key().await.id, stage.samples.tick());
    let revoked = race((0..20).map(|_| {
        let store = Arc::clone(&stage.store);
        async move { in_tx!(store, |tx| tx.management_keys().revoke(key, at).await) }
    }))
    .await;
    assert_eq!(count(&revoked, &true), 1);
}
