//! API keys and public tokens.

use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::api_key::{ApiKey, KeyUse};
use vestry_domain::operation::Operation;
use vestry_domain::timestamp::Seconds;
use vestry_ports::store::Store;

use super::stage::{Stage, works};
use crate::race::{count, race};
use crate::samples::other_environment;

impl Stage {
    async fn api_key(&mut self, world: World) -> ApiKey {
        let key = self.samples.api_key(world);
        in_tx!(self.store, |tx| tx.api_keys().insert(&key).await);
        key
    }
}

/// Every field of a key is read back unchanged, together with its App (S-15).
pub async fn a_key_comes_back_with_its_app(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    for _ in 0..20 {
        let app = stage.app().await;
        let world = World::new(app.id, stage.samples.pick(&vestry_domain::Environment::ALL));
        let key = stage.api_key(world).await;
        let found = in_view!(stage.store, |view| view
            .api_keys()
            .find_by_hash(&key.hash)
            .await);
        assert_eq!(found, Some((key, app)));
    }
}

/// An unknown hash finds nothing, however similar it is to a known one.
pub async fn an_unknown_hash_finds_nothing(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut near = stage.api_key(world).await.hash;
    near.0[31] ^= 1;
    for hash in [near, stage.samples.token()] {
        let found = in_view!(stage.store, |view| view
            .api_keys()
            .find_by_hash(&hash)
            .await);
        assert_eq!(found, None);
    }
}

/// A hash identifies one world: reusing it for a second key is an error, in another App too (I11).
pub async fn a_hash_belongs_to_one_key(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let key = stage.api_key(world).await;
    for stranger in stage.strangers(world).await {
        let twin = ApiKey {
            hash: key.hash,
            ..stage.samples.api_key(stranger)
        };
        let mut tx = works(stage.store.begin().await);
        assert!(
            tx.api_keys().insert(&twin).await.is_err(),
            "a second key of the same hash"
        );
    }
}

/// The keys of an App are listed oldest first, including both environments and revoked keys.
pub async fn keys_of_an_app_are_listed_oldest_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [_, other, _] = stage.strangers(world).await;
    let mut keys: Vec<_> = [world, other_environment(world), world, world]
        .map(|world| stage.samples.api_key(world))
        .into();
    stage.api_key(other).await;
    for key in stage.samples.shuffled(&keys) {
        in_tx!(stage.store, |tx| tx.api_keys().insert(key).await);
    }
    let at = stage.samples.tick();
    if let Some(first) = keys.first_mut() {
        first.revoked_at = Some(at);
        let id = first.id;
        in_tx!(stage.store, |tx| tx
            .api_keys()
            .revoke(world.app_id, id, at)
            .await);
    }
    let listed = in_view!(stage.store, |view| view.api_keys().list(world.app_id).await);
    assert_eq!(listed, keys);
}

/// A revoked key is still found, with its revocation time, which is set once.
pub async fn a_key_is_revoked_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (key, bystander) = (stage.api_key(world).await, stage.api_key(world).await);
    let at = stage.samples.tick();
    for (moment, expected) in [(at, true), (at + Seconds(5), false)] {
        let revoked = in_tx!(stage.store, |tx| tx
            .api_keys()
            .revoke(world.app_id, key.id, moment)
            .await);
        assert_eq!(revoked, expected);
    }
    let (found, other) = in_view!(stage.store, |view| {
        let found = view.api_keys().find_by_hash(&key.hash).await?;
        Ok((found, view.api_keys().find_by_hash(&bystander.hash).await?))
    });
    assert_eq!(found.and_then(|(key, _)| key.revoked_at), Some(at));
    assert_eq!(other.map(|(key, _)| key), Some(bystander));
}

/// An App can revoke only its own keys (I11).
pub async fn another_app_cannot_revoke(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let key = stage.api_key(world).await;
    let stranger = stage.app().await;
    let at = stage.samples.tick();
    let revoked = in_tx!(stage.store, |tx| tx
        .api_keys()
        .revoke(stranger.id, key.id, at)
        .await);
    assert!(!revoked);
    let found = in_view!(stage.store, |view| view
        .api_keys()
        .find_by_hash(&key.hash)
        .await);
    assert_eq!(found.map(|(key, _)| key), Some(key));
}

/// Of twenty parallel revocations exactly one succeeds (R12).
pub async fn parallel_revocations_count_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (key, at) = (stage.api_key(world).await.id, stage.samples.tick());
    let revoked = race((0..20).map(|_| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| tx
                .api_keys()
                .revoke(world.app_id, key, at)
                .await)
        }
    }))
    .await;
    assert_eq!(count(&revoked, &true), 1);
}

/// A change replaces name, scopes and restrictions, and nothing else; a revoked key cannot be changed.
pub async fn a_key_can_be_changed_until_it_is_revoked(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..20 {
        let key = stage.api_key(world).await;
        let bystander = stage.api_key(world).await;
        let change = stage.samples.api_key(world);
        let changed = ApiKey {
            name: change.name.clone(),
            scopes: change.scopes.clone(),
            restrictions: change.restrictions.clone(),
            ..key.clone()
        };
        // Other fields of the change are ignored.
        let change = ApiKey {
            id: key.id,
            ..change
        };
        assert!(in_tx!(stage.store, |tx| tx
            .api_keys()
            .update(&change)
            .await));
        let found = in_view!(stage.store, |view| {
            let found = view.api_keys().find_by_hash(&key.hash).await?;
            Ok([found, view.api_keys().find_by_hash(&bystander.hash).await?])
        });
        let found = found.map(|found| found.map(|(key, _)| key));
        assert_eq!(found, [Some(changed), Some(bystander)]);
        let at = stage.samples.tick();
        in_tx!(stage.store, |tx| tx
            .api_keys()
            .revoke(world.app_id, key.id, at)
            .await);
        assert!(!in_tx!(stage.store, |tx| tx
            .api_keys()
            .update(&change)
            .await));
    }
}

/// The last use of each operation is kept, for each key of the App.
pub async fn the_last_use_of_a_key_is_kept(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [_, other, _] = stage.strangers(world).await;
    let [first, second] = [stage.api_key(world).await.id, stage.api_key(world).await.id];
    let used = |world, key, operation, at| KeyUse {
        world,
        key,
        operation,
        at,
    };
    let (early, late) = (stage.samples.tick(), stage.samples.tick());
    let (get, sign) = (Operation::GetUser, Operation::SignMessage);
    for uses in [
        vec![
            used(world, first, get, early),
            used(world, first, sign, early),
        ],
        vec![
            used(world, first, sign, late),
            used(world, second, get, late),
        ],
        vec![used(other, first, get, late)],
        vec![],
    ] {
        in_tx!(stage.store, |tx| tx.api_keys().note_uses(&uses).await);
    }
    let mut expected = [
        used(world, first, get, early),
        used(world, first, sign, late),
        used(world, second, get, late),
    ];
    expected.sort_by_key(|used| (used.key, used.operation.as_str()));
    let found = in_view!(stage.store, |view| view.api_keys().uses(world.app_id).await);
    assert_eq!(found, expected);
}
