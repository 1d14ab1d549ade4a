//! Which users can sign in with credentials other than a proof of an identifier.

use vestry_domain::World;
use vestry_domain::ids::UserId;
use vestry_domain::user::ShownStatus;
use vestry_ports::store::{Repositories, StoreError};

/// The status of a user, read inside the sign-in transaction; `None` when there is no such user.
///
/// While a user is pending, everything in the account may belong to another person (attack 1). Passkeys, wallets, passwords and
/// authenticator apps work only after the first proof of an identifier. For a disabled user every credential is wrong. The final check for
/// disabling is made when the sign-in is granted; earlier checks exist to count and respond as for a wrong credential.
pub(crate) async fn status_of(
    tx: &mut dyn Repositories,
    world: &World,
    user: UserId,
) -> Result<Option<ShownStatus>, StoreError> {
    let profile = tx.users().profile(world, user).await?;
    Ok(profile.map(|profile| profile.user.shown_status()))
}
