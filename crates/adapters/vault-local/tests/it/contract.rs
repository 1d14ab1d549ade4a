//! The contract suites of key providers.

use std::sync::Arc;

use vestry_ports::vault::KeyVault;

use crate::Keys;

mod from_a_file {
    use super::*;

    async fn build() -> (Arc<dyn KeyVault>, Keys) {
        let keys = Keys::new();
        (Arc::new(keys.open()), keys)
    }

    vestry_contract::vault_suite!(build);
}

mod on_first_use {
    use vestry_vault_local::LocalVault;

    use super::*;

    async fn build() -> (Arc<dyn KeyVault>, Keys) {
        let keys = Keys::new();
        let vault = LocalVault::lazy(&keys.path, crate::entropy());
        (Arc::new(vault), keys)
    }

    vestry_contract::vault_suite!(build);
}

mod from_a_value {
    use vestry_domain::Secret;
    use vestry_vault_local::LocalVault;

    use super::*;

    async fn build() -> (Arc<dyn KeyVault>, ()) {
        let keys = Keys::new();
        let text = Secret::new(std::fs::read_to_string(&keys.path).unwrap());
        let vault = LocalVault::from_value(&text, crate::entropy()).unwrap();
        (Arc::new(vault), ())
    }

    vestry_contract::vault_wrapping_suite!(build);
}
