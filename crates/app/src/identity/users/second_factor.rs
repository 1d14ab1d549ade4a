//! Second factors of operators. The last one cannot be removed, or its operator could not sign in any longer.

use vestry_domain::World;
use vestry_domain::ids::UserId;
use vestry_ports::store::{Repositories, StoreError, WholeUser};

use crate::{Caller, Refusal};

/// Whether a user has an authenticator app or a passkey.
pub(crate) async fn has_second_factor(
    read: &mut dyn Repositories,
    world: &World,
    user: UserId,
) -> Result<bool, StoreError> {
    Ok(read.totps().count_verified(world, user).await? > 0
        || !read.passkeys().of_user(world, user).await?.is_empty())
}

/// The same for a user who was read with everything.
pub(crate) fn with_second_factor(user: &WholeUser) -> bool {
    user.totps.iter().any(|totp| totp.verified) || !user.passkeys.is_empty()
}

/// Refuses a removal that leaves an operator without a second factor. Users of Apps may have none.
///
/// Lock the user (`tx.users().lock`) before the removal, and call this after it in the same transaction. Of two concurrent removals of the
/// last two factors, the second then sees the effect of the first.
///
/// # Errors
/// [`Refusal::NotNow`].
pub(crate) async fn require_second_factor(
    tx: &mut dyn Repositories,
    caller: &Caller,
    user: UserId,
) -> Result<(), Refusal> {
    let world = &caller.world;
    if *world == World::DEPLOYMENT && !has_second_factor(tx, world, user).await? {
        return Err(Refusal::NotNow(
            "this is your last second factor; set up another one first",
        ));
    }
    Ok(())
}
