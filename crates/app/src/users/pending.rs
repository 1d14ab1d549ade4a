//! Who has to prove an address or number before any other way to sign in counts.

use vestry_domain::World;
use vestry_domain::ids::UserId;
use vestry_domain::user::UserStatus;
use vestry_ports::store::{Repositories, StoreError};

/// Whether the user still waits for a first proof of an identifier. Until then everything else about the account may be
/// somebody else's (attack 1): passkeys, wallets, passwords and authenticator apps let nobody in. Asked inside the
/// transaction that would sign in.
pub(crate) async fn is_pending(
    tx: &mut dyn Repositories,
    world: &World,
    user: UserId,
) -> Result<bool, StoreError> {
    let profile = tx.users().profile(world, user).await?;
    Ok(profile.is_some_and(|profile| profile.user.status == UserStatus::Pending))
}
