//! Tests of custody as a whole, over an in-memory database and a key provider that can be switched off and rotated.
//!
//! The tests are named after the requirements that they prove (T1 to T8, F5, R17).

mod checkpoint_signer;
mod contract;
mod keys;
mod secrets;
mod vault;
mod wallets;

use vestry_contract::fakes::{FakeStore, SeededEntropy};
use vestry_contract::samples::Samples;
use vestry_domain::envelope::{AppKey, KeyPurpose, WalletKey};
use vestry_domain::ids::AppId;
use vestry_domain::signing::SigningRequest;
use vestry_domain::wallet::{AddressForm, StoredWallet, WalletType};
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::custody::{Custodian, WalletOrder};
use vestry_ports::vault::KeyVault;

use super::*;
use vault::TestVault;

/// Custody with all its dependencies.
struct House {
    store: FakeStore,
    vault: Arc<TestVault>,
    entropy: Arc<SeededEntropy>,
    custody: Arc<Custody>,
    samples: Samples,
}

impl House {
    fn new() -> Self {
        Self::with_times(LEASE, NEWEST_WITHIN)
    }

    fn with_times(lease: Duration, recheck: Duration) -> Self {
        let store = FakeStore::default();
        let vault = Arc::new(TestVault::new());
        let entropy = Arc::new(SeededEntropy::fresh());
        let custody = Custody::with_times(
            vaults(&vault),
            Arc::new(store.clone()),
            entropy.clone(),
            Times { lease, recheck },
        )
        .unwrap();
        Self {
            store,
            vault,
            entropy,
            custody: Arc::new(custody),
            samples: Samples::fresh(),
        }
    }

    /// Starts another process over the same database and key provider, with empty caches.
    fn another_process(&self) -> Arc<Custody> {
        let custody = Custody::new(
            vaults(&self.vault),
            Arc::new(self.store.clone()),
            self.entropy.clone(),
        );
        Arc::new(custody.unwrap())
    }

    /// Creates an App with its keys.
    async fn app(&mut self) -> AppId {
        let now = self.samples.tick();
        let app = self.samples.id(now);
        let keys = self.custody.mint_app_keys(app, now).await.unwrap();
        self.insert(&keys).await;
        app
    }

    async fn insert(&self, keys: &[AppKey]) {
        let mut tx = self.store.begin().await.unwrap();
        for key in keys {
            tx.app_keys().insert(key).await.unwrap();
        }
        tx.commit().await.unwrap();
    }

    /// Returns the live world of a new App.
    async fn world(&mut self) -> World {
        World::new(self.app().await, Environment::Live)
    }

    fn order(&mut self, world: World) -> WalletOrder {
        self.order_of(world, WalletType::Ethereum)
    }

    fn order_of(&mut self, world: World, wallet_type: WalletType) -> WalletOrder {
        let created_at = self.samples.tick();
        WalletOrder {
            wallet_id: self.samples.id(created_at),
            key_id: self.samples.id(created_at),
            world,
            user_id: self.samples.id(created_at),
            wallet_type,
            address_form: AddressForm::Usual,
            created_at,
        }
    }

    async fn wallet(&mut self, world: World) -> (StoredWallet, WalletKey) {
        self.wallet_of(world, WalletType::Ethereum).await
    }

    async fn wallet_of(
        &mut self,
        world: World,
        wallet_type: WalletType,
    ) -> (StoredWallet, WalletKey) {
        let order = self.order_of(world, wallet_type);
        self.custody.create_wallet(order).await.unwrap()
    }

    /// Adds a second version of an App key, as a rotation of App keys does.
    async fn add_version(&self, world: World, purpose: KeyPurpose, version: u32) {
        let context = key_ring::context(&world, purpose, version);
        let key = key_ring::fresh(self.entropy.as_ref());
        let wrapped = self.vault.wrap(&context, &key).await.unwrap();
        let key = AppKey {
            world,
            purpose,
            version,
            wrapped,
            created_at: Timestamp::from_unix(0),
        };
        self.insert(&[key]).await;
    }
}

/// Uses one key provider for all purposes: most of custody behaves the same for each.
fn vaults<V: KeyVault + 'static>(vault: &Arc<V>) -> Vaults {
    Vaults {
        wallets: vault.clone(),
        secrets: vault.clone(),
    }
}

fn is_tampered<T>(outcome: &Result<T, CustodyError>) -> bool {
    matches!(outcome, Err(CustodyError::Tampered { .. }))
}

#[test]
fn a_repeating_source_of_randomness_is_refused_at_start() {
    struct Constant;
    impl Entropy for Constant {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(0x5a);
        }
    }
    let custody = Custody::new(
        vaults(&Arc::new(TestVault::new())),
        Arc::new(FakeStore::default()),
        Arc::new(Constant),
    );
    assert!(matches!(custody.err(), Some(CustodyError::Failed(_))));
}
