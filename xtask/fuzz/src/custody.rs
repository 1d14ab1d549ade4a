//! Custody over an in-memory database, with an App and its keys.

use std::future::Future;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::runtime::{Builder, Runtime};
use vestry_contract::fakes::{FakeStore, SeededEntropy};
use vestry_custody::Custody;
use vestry_domain::ids::{AppId, Id};
use vestry_domain::{Environment, Secret, Timestamp, World};
use vestry_ports::custody::Custodian;
use vestry_ports::entropy::Entropy;
use vestry_ports::store::Store;
use vestry_ports::vault::Vaults;
use vestry_vault_local::LocalVault;

/// The fixed time of all targets.
pub const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);

/// Custody with one App.
pub struct House {
    /// The keys.
    pub custody: Arc<Custody>,
    /// The live world of the App.
    pub world: World,
    runtime: Runtime,
}

/// An id with the fixed time.
pub fn id<I: Id>(number: u8) -> I {
    I::new(NOW, [number; 16])
}

/// Vaults with a fixed root key.
///
/// # Panics
/// If the vault rejects the key.
pub fn vaults(entropy: &Arc<dyn Entropy>) -> Vaults {
    let value = Secret::new(STANDARD.encode([0x17; 32]));
    let vault = || LocalVault::from_value(&value, Arc::clone(entropy)).expect("a root key");
    Vaults {
        wallets: Arc::new(vault()),
        secrets: Arc::new(vault()),
    }
}

impl House {
    /// A fresh custody.
    ///
    /// # Panics
    /// If it cannot be set up.
    pub fn new() -> Self {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::from_seed(7));
        let store = FakeStore::default();
        let custody = Custody::new(vaults(&entropy), Arc::new(store.clone()), entropy);
        let custody = Arc::new(custody.expect("custody"));
        let app: AppId = id(1);
        runtime.block_on(async {
            let keys = custody.mint_app_keys(app, NOW).await.expect("App keys");
            let mut tx = store.begin().await.expect("a transaction");
            for key in &keys {
                tx.app_keys().insert(key).await.expect("an App key");
            }
            tx.commit().await.expect("a commit");
        });
        Self {
            custody,
            world: World::new(app, Environment::Live),
            runtime,
        }
    }

    /// Waits for a custody call.
    pub fn wait<F: Future>(&self, call: F) -> F::Output {
        self.runtime.block_on(call)
    }
}

impl Default for House {
    fn default() -> Self {
        Self::new()
    }
}
