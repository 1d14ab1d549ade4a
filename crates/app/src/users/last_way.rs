//! The last way to sign in cannot be removed (409 `last_sign_in_method`).
//!
//! A way is what can be signed in with by itself: an address or a number, verified or not, a passkey, a wallet that signs in,
//! a link to an identity provider. A password, an authenticator app or a recovery code is none: it needs to be said whose.

use vestry_domain::World;
use vestry_domain::ids::UserId;
use vestry_ports::store::{Repositories, StoreError};

/// Whether one of the ways may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    /// Another way remains.
    Allowed,
    /// It is the only one.
    LastWay,
    /// The user is gone.
    NoUser,
}

/// Decides whether a way of the user may be removed, and keeps the answer true until the transaction ends: the user stays locked,
/// so of two that remove the last two ways one sees what the other left. Call it before the removal, in the same transaction.
pub(crate) async fn may_remove_one(
    tx: &mut dyn Repositories,
    world: &World,
    user: UserId,
) -> Result<Removal, StoreError> {
    if !tx.users().lock(world, user).await? {
        return Ok(Removal::NoUser);
    }
    if count_ways(tx, world, user).await? > 1 {
        Ok(Removal::Allowed)
    } else {
        Ok(Removal::LastWay)
    }
}

/// How many ways the user has. A new kind of way adds its count here.
async fn count_ways(
    tx: &mut dyn Repositories,
    world: &World,
    user: UserId,
) -> Result<usize, StoreError> {
    let identifiers = tx.users().profile(world, user).await?;
    let identifiers = identifiers.map_or(0, |profile| profile.emails.len() + profile.phones.len());
    let wallets = tx.wallets().of_user(world, user).await?;
    let wallets = wallets
        .iter()
        .filter(|stored| stored.wallet.is_way_to_sign_in());
    let passkeys = tx.passkeys().of_user(world, user).await?;
    Ok([identifiers, wallets.count(), passkeys.len()].iter().sum())
}
