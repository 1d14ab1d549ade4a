//! The contract suite of custody.

use super::*;

async fn build() -> (vestry_contract::custody::House, ()) {
    let house = Arc::new(House::new());
    let again = Arc::clone(&house);
    let parts = vestry_contract::custody::House {
        custodian: house.custody.clone(),
        sealer: house.custody.clone(),
        store: Arc::new(house.store.clone()),
        another: Box::new(move || again.another_process()),
    };
    (parts, ())
}

vestry_contract::custody_suite!(build);
