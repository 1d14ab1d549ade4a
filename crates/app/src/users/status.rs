//! Whom anything but the proof of an identifier lets in.

use vestry_domain::World;
use vestry_domain::ids::UserId;
use vestry_domain::user::ShownStatus;
use vestry_ports::store::{Repositories, StoreError};

/// The status of a user, asked inside the transaction that would sign in; `None` when there is no such user.
///
/// While a user is pending, everything about the account may be somebody else's (attack 1): passkeys, wallets, passwords and
/// authenticator apps let nobody in before a first proof of an identifier. For a disabled user nothing is right. That nobody is
/// disabled at this moment is decided where the sign-in is granted; who asks before wants to count and answer as for what is wrong.
pub(crate) async fn status_of(
    tx: &mut dyn Repositories,
    world: &World,
    user: UserId,
) -> Result<Option<ShownStatus>, StoreError> {
    let profile = tx.users().profile(world, user).await?;
    Ok(profile.map(|profile| profile.user.shown_status()))
}
