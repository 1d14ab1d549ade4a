//! Lines of `vestry users import`: JSON of one user.
//!
//! A parsed line must print to a line that parses to the same user, and its dry run must give a user or a reason.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use vestry_app::Principal;
use vestry_app::identity::users::PortableUser;
use vestry_fuzz::service::{FuzzService, RUNTIME};

static SERVICE: LazyLock<FuzzService> = LazyLock::new(FuzzService::new);

fuzz_target!(|line: &[u8]| {
    let Ok(user) = serde_json::from_slice::<PortableUser>(line) else {
        return;
    };
    let printed = serde_json::to_vec(&user).expect("a line");
    let again: PortableUser = serde_json::from_slice(&printed).expect("a line of ours");
    assert!(again == user, "printed and read again");
    // Created before anything is awaited.
    let fuzz = &*SERVICE;
    RUNTIME.block_on(async {
        let caller = fuzz.service.caller(Principal::cli(), fuzz.world).await;
        let caller = caller.expect("the App exists");
        let import = fuzz.service.import_users(&caller, true);
        let mut import = import.await.expect("a rehearsal");
        let outcomes = import.take(&[user, again]).await.expect("outcomes");
        assert_eq!(outcomes.len(), 2);
    });
});
