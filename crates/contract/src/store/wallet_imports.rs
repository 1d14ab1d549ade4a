//! Key pairs for importing sealed private keys.

use std::sync::Arc;

use vestry_domain::key_transfer::ImportKey;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::User;
use vestry_domain::wallet::WalletType;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::Store;

use super::stage::Stage;
use crate::race::{count, race};

const ADDRESS: &str = "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23";

impl Stage {
    async fn import_key(&mut self, user: &User) -> ImportKey {
        let key = self.samples.import_key(user, ADDRESS);
        in_tx!(self.store, |tx| tx.wallet_imports().insert(&key).await);
        key
    }

    async fn living_keys(&self, world: World, now: Timestamp) -> Vec<ImportKey> {
        let ethereum = WalletType::Ethereum;
        in_view!(self.store, |view| view
            .wallet_imports()
            .living(&world, ethereum, ADDRESS, now, 10)
            .await)
    }

    async fn use_key(&self, key: &ImportKey, now: Timestamp) -> bool {
        let (world, id) = (key.world, key.id);
        in_tx!(self.store, |tx| tx
            .wallet_imports()
            .consume(&world, id, now)
            .await)
    }
}

/// Every field is read back unchanged, newest first.
pub async fn a_key_pair_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let mut made = Vec::new();
    for _ in 0..8 {
        made.insert(0, stage.import_key(&user).await);
    }
    let now = made.last().map(|key| key.created_at).unwrap_or_default();
    assert_eq!(stage.living_keys(world, now).await, made);
}

/// The listed key pairs are unused, unexpired, of the given address and type, and limited in number.
pub async fn living_key_pairs_are_those_that_can_be_used(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (first, second, third) = (
        stage.import_key(&user).await,
        stage.import_key(&user).await,
        stage.import_key(&user).await,
    );
    assert!(stage.use_key(&second, second.created_at).await);
    assert_eq!(
        stage
            .living_keys(world, first.expires_at - Seconds(1))
            .await,
        [third.clone(), first.clone()]
    );
    assert_eq!(
        stage.living_keys(world, first.expires_at).await,
        std::slice::from_ref(&third),
        "a key pair is invalid from the second in which it expires"
    );
    let now = first.created_at;
    let (other_type, other_address, newest) = in_view!(stage.store, |view| {
        let keys = view.wallet_imports();
        Ok((
            keys.living(&world, WalletType::Solana, ADDRESS, now, 10)
                .await?,
            keys.living(&world, WalletType::Ethereum, "0x00", now, 10)
                .await?,
            keys.living(&world, WalletType::Ethereum, ADDRESS, now, 1)
                .await?,
        ))
    });
    assert_eq!((other_type, other_address), (Vec::new(), Vec::new()));
    assert_eq!(newest, [third]);
}

/// A key pair is used once, and only before it expires.
pub async fn a_key_pair_is_used_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (key, other) = (stage.import_key(&user).await, stage.import_key(&user).await);
    assert!(!stage.use_key(&key, key.expires_at).await);
    let last = key.expires_at - Seconds(1);
    assert!(stage.use_key(&key, last).await);
    assert!(!stage.use_key(&key, last).await);
    assert_eq!(stage.living_keys(world, last).await, [other]);
}

/// Nothing in a world can be seen or used from another (I11).
pub async fn key_pairs_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let key = stage.import_key(&user).await;
    let now = key.created_at;
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.living_keys(stranger, now).await, []);
        let moved = ImportKey {
            world: stranger,
            ..key.clone()
        };
        assert!(!stage.use_key(&moved, now).await);
    }
    assert!(stage.use_key(&key, now).await);
}

/// Of a hundred parallel uses of one key pair one succeeds (R2).
pub async fn parallel_uses_of_a_key_pair_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    for _ in 0..3 {
        let key = stage.import_key(&user).await;
        let used = race((0..100).map(|_| {
            let (store, id, now) = (Arc::clone(&stage.store), key.id, key.created_at);
            async move {
                in_tx!(store, |tx| tx
                    .wallet_imports()
                    .consume(&world, id, now)
                    .await)
            }
        }))
        .await;
        assert_eq!(count(&used, &true), 1);
    }
}

/// Key pairs made for a user are deleted in its world, and no others (CL-3).
pub async fn key_pairs_of_a_user_are_forgotten(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let gone = ImportKey {
        user_id: Some(user.id),
        ..stage.samples.import_key(&user, ADDRESS)
    };
    let of_other = ImportKey {
        user_id: Some(other.id),
        ..stage.samples.import_key(&other, ADDRESS)
    };
    let of_nobody = ImportKey {
        user_id: None,
        ..stage.samples.import_key(&user, ADDRESS)
    };
    for key in [&gone, &of_other, &of_nobody] {
        in_tx!(stage.store, |tx| tx.wallet_imports().insert(key).await);
    }
    let now = gone.created_at;
    let stranger = crate::samples::other_environment(world);
    in_tx!(stage.store, |tx| tx
        .wallet_imports()
        .forget(&stranger, user.id)
        .await);
    assert_eq!(stage.living_keys(world, now).await.len(), 3);
    in_tx!(stage.store, |tx| tx
        .wallet_imports()
        .forget(&world, user.id)
        .await);
    let left = stage.living_keys(world, now).await;
    assert_eq!(left, [of_nobody, of_other]);
}

/// Key pairs made for a user are deleted with the user (S-5); those for other users, or for anyone, stay.
pub async fn key_pairs_of_a_deleted_user_are_gone(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let mut kept = Vec::new();
    for owner in [Some(user.id), Some(other.id), None] {
        let key = ImportKey {
            user_id: owner,
            ..stage.samples.import_key(&user, ADDRESS)
        };
        in_tx!(stage.store, |tx| tx.wallet_imports().insert(&key).await);
        if owner != Some(user.id) {
            kept.insert(0, key);
        }
    }
    let now = kept.last().map(|key| key.created_at).unwrap_or_default();
    assert_eq!(stage.living_keys(world, now).await.len(), 3);
    let deleted = in_tx!(stage.store, |tx| tx.users().delete(&world, user.id).await);
    assert!(deleted.is_some());
    assert_eq!(stage.living_keys(world, now).await, kept);
}

/// A sweep deletes what had expired by the given time, in one environment.
pub async fn a_sweep_deletes_expired_key_pairs(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (first, second) = (stage.import_key(&user).await, stage.import_key(&user).await);
    let [other, ..] = stage.strangers(world).await;
    let sweep = |environment: Environment, by: Timestamp| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| tx
                .wallet_imports()
                .sweep(&environment.into(), by)
                .await)
        }
    };
    assert_eq!(
        sweep(world.environment, first.expires_at - Seconds(1)).await,
        0
    );
    assert_eq!(sweep(other.environment, second.expires_at).await, 0);
    assert_eq!(sweep(world.environment, first.expires_at).await, 1);
    assert_eq!(stage.living_keys(world, first.created_at).await, [second]);
}
