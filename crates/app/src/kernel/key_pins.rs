//! Pins on keys, which prevent their destruction while data is stored under them.

use vestry_domain::World;
use vestry_domain::envelope::{AppKey, KeyPurpose};
use vestry_ports::store::{Repositories, StoreError};

use crate::Fault;

/// Pins the root key version that wraps a new App key.
///
/// Call it in the transaction that adds the App key, before adding it. The version then cannot be destroyed before the key is visible to a
/// rotation.
///
/// # Errors
/// [`Fault::StaleRoot`] if the version may already be destroyed. Wrap a new key and retry in a new transaction.
pub(crate) async fn hold_root(tx: &mut dyn Repositories, key: &AppKey) -> Result<(), Fault> {
    let (root, version) = (key.purpose.root(), key.wrapped.root_version);
    if tx.app_keys().hold_root(root, version).await? {
        return Ok(());
    }
    Err(Fault::StaleRoot(root, version))
}

/// Pins a version of an environment's App key for wallets.
///
/// Call it in the transaction that stores data under the version, before storing it, so that the version cannot be destroyed.
///
/// # Errors
/// [`StoreError::Unavailable`] if it was already destroyed, because this process has not yet noticed a newer version. Retrying helps only
/// after [`NEWEST_WITHIN`](vestry_ports::custody::NEWEST_WITHIN).
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
        "App key was retired before it could be used; try again".into(),
    ))
}
