//! App keys: creation, rotation of the root key, and an unavailable key provider.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use vestry_contract::race::race;
use vestry_domain::envelope::{Place, SecretKind, WrappedKey};
use vestry_ports::custody::Sealer;
use vestry_ports::port;
use vestry_ports::vault::{VaultError, VaultStatus};

use super::*;

async fn sign(custody: &Custody, wallet: &(StoredWallet, WalletKey)) -> Result<(), CustodyError> {
    let (stored, key) = wallet.clone();
    custody
        .sign(stored, key, &SigningRequest::message("m"))
        .await
        .map(|_| ())
}

fn is_sealed<T>(outcome: &Result<T, CustodyError>) -> bool {
    matches!(outcome, Err(CustodyError::Sealed(_)))
}

#[tokio::test]
async fn a_new_app_gets_a_key_of_its_own_for_each_environment_and_purpose() {
    let mut house = House::new();
    let now = house.samples.tick();
    let app = house.samples.id(now);
    let keys = house.custody.mint_app_keys(app, now).await.unwrap();
    let places: BTreeSet<_> = keys
        .iter()
        .map(|key| (key.world.environment, key.purpose))
        .collect();
    assert_eq!((keys.len(), places.len()), (4, 4));
    let mut opened = BTreeSet::new();
    for key in &keys {
        assert_eq!((key.world.app_id, key.version), (app, 1));
        assert_eq!(key.created_at, now);
        let context = key_ring::context(&key.world, key.purpose, key.version);
        let secret = house.vault.unwrap(&context, &key.wrapped).await.unwrap();
        opened.insert(*secret.expose());
    }
    assert_eq!(opened.len(), 4);
}

/// T3 in the middle layer: App keys swapped by purpose, environment, App or version.
#[tokio::test]
async fn t3_a_wrapped_app_key_opens_in_no_other_row() {
    let mut house = House::new();
    let now = house.samples.tick();
    let (one, other) = (house.samples.id(now), house.samples.id(now));
    let mut keys = house.custody.mint_app_keys(one, now).await.unwrap();
    keys.extend(house.custody.mint_app_keys(other, now).await.unwrap());
    for from in &keys {
        for to in &keys {
            let moved = AppKey {
                wrapped: from.wrapped.clone(),
                ..to.clone()
            };
            let outcome = house.custody.rewrap_app_key(&moved).await;
            assert_eq!(is_tampered(&outcome), from != to);
        }
        let renumbered = AppKey {
            version: 2,
            ..from.clone()
        };
        assert!(is_tampered(
            &house.custody.rewrap_app_key(&renumbered).await
        ));
    }
}

/// An App key swapped in the database, as seen by the code that uses it.
#[tokio::test]
async fn t3_swapped_app_keys_open_no_wallet() {
    let mut house = House::new();
    let world = house.world().await;
    let wallet = house.wallet(world).await;
    let decoy = house.world().await;
    let mut tx = house.store.begin().await.unwrap();
    let find = async |tx: &mut dyn vestry_ports::store::Tx, world: &World| {
        let found = tx.app_keys().find(world, KeyPurpose::Wallets, 1).await;
        found.unwrap().unwrap()
    };
    let own = find(tx.as_mut(), &world).await;
    let other = find(tx.as_mut(), &decoy).await;
    assert!(
        tx.app_keys()
            .rewrap(&own, own.wrapped.root_version, &other.wrapped)
            .await
            .unwrap()
    );
    tx.commit().await.unwrap();
    let custody = house.another_process();
    assert!(is_tampered(&sign(&custody, &wallet).await));
    assert_eq!(custody.alarms(), 1);
}

#[tokio::test]
async fn a_rewrapped_key_is_the_same_key_under_the_new_root_version() {
    let mut house = House::new();
    let now = house.samples.tick();
    let app = house.samples.id(now);
    for key in house.custody.mint_app_keys(app, now).await.unwrap() {
        let context = key_ring::context(&key.world, key.purpose, key.version);
        let before = house.vault.unwrap(&context, &key.wrapped).await.unwrap();
        let version = house.vault.add_root_version().await.unwrap();
        let again = house.custody.rewrap_app_key(&key).await.unwrap();
        assert_eq!(again.wrapped.root_version, version);
        let expected = AppKey {
            wrapped: again.wrapped.clone(),
            ..key
        };
        assert_eq!(again, expected);
        let after = house.vault.unwrap(&context, &again.wrapped).await.unwrap();
        assert_eq!(before.expose(), after.expose());
    }
}

/// Rewraps all App keys, as `vestry vault rotate-root` does.
async fn rotate_root(house: &House) {
    let version = house.vault.add_root_version().await.unwrap();
    let all = {
        let mut view = house.store.read().await.unwrap();
        view.app_keys().all().await.unwrap()
    };
    for key in all {
        let again = house.custody.rewrap_app_key(&key).await.unwrap();
        let mut tx = house.store.begin().await.unwrap();
        tx.app_keys()
            .rewrap(&key, key.wrapped.root_version, &again.wrapped)
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }
    house.vault.retire_below(version).await.unwrap();
}

#[tokio::test]
async fn everything_opens_after_a_root_key_rotation_without_the_old_key() {
    let mut house = House::new();
    let world = house.world().await;
    let wallet = house.wallet(world).await;
    let place = Place {
        world,
        kind: SecretKind::SigningKey,
        owner: "jwk",
    };
    let sealed = house.custody.seal(place, b"secret").await.unwrap();
    rotate_root(&house).await;
    assert_eq!(house.vault.status().await.unwrap().versions, [2]);
    for custody in [&house.custody, &house.another_process()] {
        sign(custody, &wallet).await.unwrap();
        assert_eq!(
            custody.open(place, &sealed).await.unwrap().expose(),
            b"secret"
        );
    }
}

/// After the row of the App key is read, and before the key is decrypted, the root key is rotated and its old version destroyed,
/// repeatedly.
#[tokio::test]
async fn r17_a_rotation_that_overtakes_the_opening_of_a_key_does_no_harm() {
    struct Overtaken {
        house: House,
        rotations: AtomicUsize,
    }

    #[port]
    impl KeyVault for Overtaken {
        async fn wrap(
            &self,
            context: &[u8],
            key: &Secret<[u8; 32]>,
        ) -> Result<WrappedKey, VaultError> {
            self.house.vault.wrap(context, key).await
        }

        async fn unwrap(
            &self,
            context: &[u8],
            wrapped: &WrappedKey,
        ) -> Result<Secret<[u8; 32]>, VaultError> {
            let left = |left: usize| left.checked_sub(1);
            let due = self
                .rotations
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, left);
            if due.is_ok() {
                rotate_root(&self.house).await;
            }
            self.house.vault.unwrap(context, wrapped).await
        }

        async fn status(&self) -> Result<VaultStatus, VaultError> {
            self.house.vault.status().await
        }

        async fn add_root_version(&self) -> Result<u32, VaultError> {
            self.house.vault.add_root_version().await
        }

        async fn retire_below(&self, version: u32) -> Result<(), VaultError> {
            self.house.vault.retire_below(version).await
        }
    }

    for rotations in [1, 3] {
        let mut house = House::new();
        let world = house.world().await;
        let wallet = house.wallet(world).await;
        let (store, entropy) = (Arc::new(house.store.clone()), house.entropy.clone());
        let vault = Arc::new(Overtaken {
            house,
            rotations: AtomicUsize::new(rotations),
        });
        let custody = Custody::new(vaults(&vault), store, entropy).unwrap();
        sign(&custody, &wallet).await.unwrap();
        let status = vault.status().await.unwrap();
        assert_eq!(
            usize::try_from(status.primary_version).unwrap(),
            rotations + 1
        );
    }
}

/// R17 in small: processes with empty caches sign while the root key is rotated and old versions are destroyed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r17_no_signature_fails_while_root_keys_are_rotated() {
    let mut house = House::new();
    let mut wallets = Vec::new();
    for _ in 0..10 {
        let world = house.world().await;
        wallets.push(house.wallet(world).await);
    }
    let house = Arc::new(house);
    let mut tasks: Vec<std::pin::Pin<Box<dyn Future<Output = ()> + Send>>> = Vec::new();
    for number in 0..100 {
        let wallet = wallets[number % wallets.len()].clone();
        let house = Arc::clone(&house);
        tasks.push(Box::pin(async move {
            for _ in 0..5 {
                sign(&house.another_process(), &wallet).await.unwrap();
                sign(&house.custody, &wallet).await.unwrap();
            }
        }));
    }
    let rotating = Arc::clone(&house);
    tasks.push(Box::pin(async move {
        for _ in 0..5 {
            rotate_root(&rotating).await;
        }
    }));
    race(tasks).await;
    assert_eq!(house.vault.status().await.unwrap().versions, [6]);
    assert_eq!(house.custody.alarms(), 0);
}

/// The key provider is called once for any number of simultaneous requests, and not again after that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_provider_is_not_called_for_every_signature() {
    let mut house = House::new();
    let world = house.world().await;
    let wallet = house.wallet(world).await;
    let custody = house.another_process();
    let before = house.vault.unwraps();
    let tasks = (0..100).map(|_| {
        let (custody, wallet) = (Arc::clone(&custody), wallet.clone());
        async move { sign(&custody, &wallet).await.unwrap() }
    });
    race(tasks).await;
    assert_eq!(house.vault.unwraps() - before, 1);
}

/// F5: decrypted keys keep working, everything else returns `sealed`, and no new key is silently created.
#[tokio::test]
async fn f5_without_the_key_provider_opened_keys_work_and_others_are_sealed() {
    let mut house = House::new();
    let opened = house.world().await;
    let unopened = house.world().await;
    let wallet = house.wallet(opened).await;
    let fresh = house.another_process();
    house.vault.set_down(true);

    sign(&house.custody, &wallet).await.unwrap();
    house.wallet(opened).await;
    let order = house.order(unopened);
    assert!(is_sealed(&house.custody.create_wallet(order.clone()).await));
    assert!(is_sealed(&sign(&fresh, &wallet).await));
    assert!(is_sealed(&fresh.authenticate(wallet.0.clone()).await));
    let now = house.samples.tick();
    let app = house.samples.id(now);
    assert!(is_sealed(&house.custody.mint_app_keys(app, now).await));
    let place = Place {
        world: unopened,
        kind: SecretKind::Code,
        owner: "o",
    };
    // The process that created the world has its key of secrets in memory.
    assert!(is_sealed(&fresh.seal(place, b"s").await));
    house.custody.seal(place, b"s").await.unwrap();

    house.vault.set_down(false);
    sign(&fresh, &wallet).await.unwrap();
    house.custody.create_wallet(order).await.unwrap();
    assert_eq!(house.custody.alarms(), 0);
}

/// F5: the lease of a decrypted key ends (KEY-12).
#[tokio::test]
async fn f5_after_its_lease_a_key_is_reopened_or_not_used() {
    let mut house = House::with_times(Duration::ZERO, NEWEST_WITHIN);
    let world = house.world().await;
    let wallet = house.wallet(world).await;
    let before = house.vault.unwraps();
    sign(&house.custody, &wallet).await.unwrap();
    assert!(house.vault.unwraps() > before);
    house.vault.set_down(true);
    assert!(is_sealed(&sign(&house.custody, &wallet).await));
    house.vault.set_down(false);
    sign(&house.custody, &wallet).await.unwrap();
}

#[tokio::test]
async fn an_unavailable_database_is_not_reported_as_tampering() {
    let mut house = House::new();
    let world = house.world().await;
    let wallet = house.wallet(world).await;
    let fresh = house.another_process();
    house.store.set_unavailable(true);
    // Cached keys need no database.
    sign(&house.custody, &wallet).await.unwrap();
    let outcome = sign(&fresh, &wallet).await;
    assert!(matches!(outcome, Err(CustodyError::Store(_))));
    house.store.set_unavailable(false);
    sign(&fresh, &wallet).await.unwrap();
    assert_eq!(fresh.alarms(), 0);
}

#[tokio::test]
async fn a_newer_app_key_is_noticed_only_after_the_recheck_interval() {
    for (recheck, expected) in [(Duration::ZERO, 2), (Duration::from_secs(3600), 1)] {
        let mut house = House::with_times(LEASE, recheck);
        let world = house.world().await;
        let (_, old) = house.wallet(world).await;
        assert_eq!(old.key_version, 1);
        house.add_version(world, KeyPurpose::Wallets, 2).await;
        let (stored, new) = house.wallet(world).await;
        assert_eq!(
            (new.key_version, stored.mac.key_version),
            (expected, expected)
        );
    }
}

/// A caller in a transaction does not wait for a connection, which may be held by a transaction that waits for it.
#[tokio::test]
async fn the_newest_version_is_refreshed_while_it_is_in_use() {
    let mut house = House::with_times(LEASE, NEWEST_WITHIN);
    let world = house.world().await;
    let mac = async |house: &House| {
        let parts: [&[u8]; 1] = [b"entry"];
        let mac = house.custody.mac(&world, SecretKind::Audit, &parts).await;
        mac.map(|mac| mac.key_version)
    };
    assert_eq!(mac(&house).await.unwrap(), 1);
    house.add_version(world, KeyPurpose::Secrets, 2).await;
    let keys = Arc::clone(&house.custody.secret_keys);
    // The refresh is due, and fails.
    keys.age(&world, NEWEST_WITHIN / 2);
    house.store.set_unavailable(true);
    assert_eq!(mac(&house).await.unwrap(), 1);
    tokio::task::yield_now().await;
    house.store.set_unavailable(false);
    keys.age(&world, NEWEST_WITHIN / 10);
    assert_eq!(mac(&house).await.unwrap(), 1);
    let mut version = 1;
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
        version = mac(&house).await.unwrap();
        if version == 2 {
            break;
        }
    }
    assert_eq!(version, 2);
    // Without a refresh, it is not used any longer.
    keys.age(&world, NEWEST_WITHIN);
    house.store.set_unavailable(true);
    assert!(matches!(mac(&house).await, Err(CustodyError::Store(_))));
}

#[tokio::test]
async fn an_app_without_keys_raises_an_alarm_and_gets_no_new_key() {
    let mut house = House::new();
    let now = house.samples.tick();
    let world = World::new(house.samples.id(now), Environment::Test);
    let order = house.order(world);
    assert!(is_tampered(&house.custody.create_wallet(order).await));
    assert_eq!(house.custody.alarms(), 1);
}
