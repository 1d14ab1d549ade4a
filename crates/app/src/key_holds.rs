//! What keeps a key from being destroyed while something is stored under it.

use vestry_domain::World;
use vestry_domain::envelope::{AppKey, KeyPurpose};
use vestry_ports::store::{Repositories, StoreError};

use crate::Fault;

/// To be called in the transaction that adds an App key, before it does: the root version that wrapped it is not destroyed before
/// the key is there to be wrapped anew.
///
/// # Errors
/// [`Fault::StaleRoot`]: it may be destroyed already. A new key is to be wrapped, in a new transaction.
pub(crate) async fn hold_root(tx: &mut dyn Repositories, key: &AppKey) -> Result<(), Fault> {
    let (root, version) = (key.purpose.root(), key.wrapped.root_version);
    if tx.app_keys().hold_root(root, version).await? {
        return Ok(());
    }
    Err(Fault::StaleRoot(root, version))
}

/// To be called in the transaction that writes what stands under a version of a world's App key for wallets, before that is
/// written: nobody destroys the key then.
///
/// # Errors
/// [`StoreError::Unavailable`] when it was destroyed already: this process learned too late that there is a newer one. Running the
/// transaction again would not help; trying again after [`NEWEST_WITHIN`](vestry_ports::custody::NEWEST_WITHIN) does.
pub(crate) async fn hold_wallet_key(
    tx: &mut dyn Repositories,
    world: &World,
    version: u32,
) -> Result<(), StoreError> {
    let keys = tx.app_keys();
    if keys.hold(world, KeyPurpose::Wallets, version).await? {
        return Ok(());
    }
    Err(StoreError::Unavailable(
        "the App key was destroyed before something could be stored under it".into(),
    ))
}
