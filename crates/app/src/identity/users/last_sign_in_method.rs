//! The last sign-in method cannot be removed (409 `last_sign_in_method`).
//!
//! A sign-in method works on its own: a passkey, a sign-in wallet, a link to an identity provider, or an address or number. Addresses and
//! numbers count if they are proved, or claimed by an account without an owner or whose App trusts what it attaches. A password, an
//! authenticator app or a recovery code does not count: it requires naming its user.

use vestry_domain::ids::UserId;
use vestry_ports::store::{Repositories, StoreError};

use super::account_resolution::FoundIdentifier;
use super::verification::is_provable;
use crate::Caller;

/// Whether a sign-in method remains after a removal.
///
/// Lock the user (`tx.users().lock`) before the removal, call this after it in the same transaction, and drop the transaction if none
/// remains. Of two concurrent removals of the last two methods, the second then sees the effect of the first.
pub(crate) async fn one_remains(
    tx: &mut dyn Repositories,
    caller: &Caller,
    user: UserId,
) -> Result<bool, StoreError> {
    Ok(count_ways(tx, caller, user).await? > 0)
}

/// The number of sign-in methods of the user. A new kind of method adds its count here.
pub(crate) async fn count_ways(
    tx: &mut dyn Repositories,
    caller: &Caller,
    user: UserId,
) -> Result<usize, StoreError> {
    let world = &caller.world;
    let identifiers = tx.users().profile(world, user).await?;
    let identifiers = identifiers.map_or(0, |profile| {
        let owner = &profile.user;
        let emails = profile
            .emails
            .iter()
            .map(|email| FoundIdentifier::email(email, owner.clone()));
        let phones = profile
            .phones
            .iter()
            .map(|phone| FoundIdentifier::phone(phone, owner.clone()));
        let all = emails.chain(phones);
        all.filter(|found| is_provable(caller, found)).count()
    });
    let wallets = tx.wallets().of_user(world, user).await?;
    let wallets = wallets
        .iter()
        .filter(|stored| stored.wallet.is_way_to_sign_in());
    let passkeys = tx.passkeys().of_user(world, user).await?;
    let providers = tx.provider_links().of_user(world, user).await?;
    let others = [wallets.count(), passkeys.len(), providers.len()];
    Ok(identifiers + others.iter().sum::<usize>())
}
