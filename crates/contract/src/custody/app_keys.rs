//! App keys, the middle layer.

use vestry_domain::envelope::{AppKey, KeyPurpose};
use vestry_domain::{Environment, World};
use vestry_ports::custody::CustodyError;
use vestry_ports::store::{StoreError, StoreResult};

use super::{House, is_tampered, order, works};
use crate::samples::Samples;

pub(super) async fn stored_keys(house: &House) -> Vec<AppKey> {
    let keys: StoreResult<Vec<AppKey>> = async {
        let mut view = house.store.read().await?;
        view.app_keys().all().await
    }
    .await;
    works(keys.map_err(CustodyError::Store))
}

/// A new App gets one key for each environment and purpose, version 1, all different. Minting stores nothing (KEY-8).
pub async fn a_new_app_gets_a_key_for_each_use(house: House) {
    let mut samples = Samples::fresh();
    let (app, now) = (samples.app().id, samples.tick());
    let keys = works(house.custodian.mint_app_keys(app, now).await);
    assert_eq!(keys.len(), 4);
    for environment in Environment::ALL {
        for purpose in KeyPurpose::ALL {
            let place = (World::new(app, environment), purpose, 1, now);
            let of_place = keys
                .iter()
                .filter(|key| (key.world, key.purpose, key.version, key.created_at) == place);
            assert_eq!(of_place.count(), 1, "{environment} {purpose}");
        }
    }
    let others = works(house.custodian.mint_app_keys(app, now).await);
    let mut wrapped: Vec<_> = keys
        .iter()
        .chain(&others)
        .map(|key| &key.wrapped.bytes)
        .collect();
    wrapped.sort_unstable();
    wrapped.dedup();
    assert_eq!(wrapped.len(), 8, "two keys are equal");
    assert_eq!(stored_keys(&house).await, []);
}

/// Without an App key, the call fails: no key is created implicitly (F5).
pub async fn a_world_without_keys_gets_none_implicitly(house: House) {
    let mut samples = Samples::fresh();
    house.worlds(&mut samples).await;
    let before = stored_keys(&house).await;
    let stranger = World::new(samples.app().id, Environment::Live);
    let user_id = samples.id(samples.now());
    let order = order(&mut samples, stranger, user_id);
    assert!(house.custodian.create_wallet(order).await.is_err());
    assert_eq!(stored_keys(&house).await, before);
}

/// A rewrapped key keeps its context, and what it protects still opens (R17).
pub async fn a_rewrapped_key_is_the_same_key(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let (stored, key) = house.wallet(&mut samples, world).await;
    for app_key in stored_keys(&house).await {
        assert!(works(house.custodian.opens_app_key(&app_key).await));
        let rewrapped = works(house.custodian.rewrap_app_key(&app_key).await);
        let place = |key: &AppKey| (key.world, key.purpose, key.version, key.created_at);
        assert_eq!(place(&rewrapped), place(&app_key));
        let from = app_key.wrapped.root_version;
        let swapped: Result<bool, StoreError> = async {
            let mut tx = house.store.begin().await?;
            let swapped = tx
                .app_keys()
                .rewrap(&app_key, from, &rewrapped.wrapped)
                .await?;
            tx.commit().await?;
            Ok(swapped)
        }
        .await;
        assert!(works(swapped.map_err(CustodyError::Store)));
    }
    house.accepts(&stored, &key).await;
    house.wallet(&mut samples, world).await;
}

/// A wrapped key that was altered or moved to another context is not rewrapped (T1, T3).
pub async fn an_altered_key_is_not_rewrapped(house: House) {
    let mut samples = Samples::fresh();
    house.worlds(&mut samples).await;
    let keys = stored_keys(&house).await;
    for key in &keys {
        let mut altered = key.clone();
        altered.wrapped.bytes.iter_mut().for_each(|byte| *byte ^= 1);
        is_tampered(house.custodian.rewrap_app_key(&altered).await, "altered");
        assert!(!works(house.custodian.opens_app_key(&altered).await));
        let others = keys.iter().filter(|other| *other != key);
        for other in others {
            let moved = AppKey {
                wrapped: other.wrapped.clone(),
                ..key.clone()
            };
            is_tampered(house.custodian.rewrap_app_key(&moved).await, "moved");
        }
        let version = AppKey {
            version: 2,
            ..key.clone()
        };
        is_tampered(
            house.custodian.rewrap_app_key(&version).await,
            "another version",
        );
    }
}
