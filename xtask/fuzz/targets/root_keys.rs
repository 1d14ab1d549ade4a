//! Root keys as text: one key, or a document of several. A vault that opens must wrap a key and unwrap it in its own context only.

#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};
use vestry_contract::fakes::SeededEntropy;
use vestry_domain::Secret;
use vestry_ports::entropy::Entropy;
use vestry_ports::vault::KeyVault;
use vestry_vault_local::LocalVault;

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().build().expect("a runtime"));
static ENTROPY: LazyLock<Arc<dyn Entropy>> =
    LazyLock::new(|| Arc::new(SeededEntropy::from_seed(5)));

fuzz_target!(|text: &str| {
    let value = Secret::new(text.to_owned());
    let Ok(vault) = LocalVault::from_value(&value, Arc::clone(&ENTROPY)) else {
        return;
    };
    RUNTIME.block_on(async {
        let key = Secret::new([3; 32]);
        let wrapped = vault.wrap(b"here", &key).await.expect("a wrapped key");
        let opened = vault.unwrap(b"here", &wrapped).await.expect("its key");
        assert_eq!(opened.expose(), key.expose());
        assert!(
            vault.unwrap(b"there", &wrapped).await.is_err(),
            "in another place"
        );
        let status = vault.status().await.expect("a status");
        assert!(status.versions.contains(&status.primary_version));
        assert!(status.versions.is_sorted(), "{:?}", status.versions);
    });
});
