//! The suite that every custody passes.

use super::*;

async fn build() -> (vestry_contract::custody::House, ()) {
    let house = House::new();
    let parts = vestry_contract::custody::House {
        custodian: house.custody.clone(),
        sealer: house.custody,
        store: Arc::new(house.store),
    };
    (parts, ())
}

vestry_contract::custody_suite!(build);
