//! Signing keys of session JWTs.

use std::sync::Arc;

use vestry_ports::store::Store;

use super::stage::{Stage, works};

/// Every field of a key is read back unchanged, and the keys of a world are listed oldest first, whatever the order of insertion.
pub async fn keys_come_back_oldest_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let keys: Vec<_> = (0..9).map(|_| stage.samples.signing_key(world)).collect();
    for key in stage.samples.shuffled(&keys) {
        in_tx!(stage.store, |tx| tx.signing_keys().insert(key).await);
    }
    let listed = in_view!(stage.store, |view| view.signing_keys().list(&world).await);
    assert_eq!(listed, keys);
}

/// A world lists only its own keys (S-14, I11).
pub async fn keys_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let key = stage.samples.signing_key(world);
    in_tx!(stage.store, |tx| tx.signing_keys().insert(&key).await);
    for stranger in stage.strangers(world).await {
        let listed = in_view!(stage.store, |view| view
            .signing_keys()
            .list(&stranger)
            .await);
        assert_eq!(listed, []);
    }
}

/// A duplicate `kid` is an error (S-9).
pub async fn a_kid_is_added_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let key = stage.samples.signing_key(world);
    in_tx!(stage.store, |tx| tx.signing_keys().insert(&key).await);
    let mut twin = stage.samples.signing_key(world);
    twin.id = key.id;
    let mut tx = works(stage.store.begin().await);
    assert!(
        tx.signing_keys().insert(&twin).await.is_err(),
        "added twice"
    );
}

/// A key is removed once, and only from its own world.
pub async fn a_key_is_removed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let keys = [(); 3].map(|()| stage.samples.signing_key(world));
    for key in &keys {
        in_tx!(stage.store, |tx| tx.signing_keys().insert(key).await);
    }
    let [first, gone, last] = keys;
    for stranger in stage.strangers(world).await {
        let removed = in_tx!(stage.store, |tx| tx
            .signing_keys()
            .remove(&stranger, gone.id)
            .await);
        assert!(!removed);
    }
    for expected in [true, false] {
        let removed = in_tx!(stage.store, |tx| tx
            .signing_keys()
            .remove(&world, gone.id)
            .await);
        assert_eq!(removed, expected);
    }
    let listed = in_view!(stage.store, |view| view.signing_keys().list(&world).await);
    assert_eq!(listed, [first, last]);
}
