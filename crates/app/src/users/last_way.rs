//! The last way to sign in cannot be removed (409 `last_sign_in_method`).
//!
//! A way is what can be signed in with by itself: an address or a number that is proved, or claimed by an account that is not
//! founded or whose App trusts what it attaches, a passkey, a wallet that signs in, a link to an identity provider. A password, an authenticator app or a recovery code is none: it needs to be said whose.

use vestry_domain::ids::UserId;
use vestry_ports::store::{Repositories, StoreError};

use super::arrival::Found;
use super::proof::is_provable;
use crate::Caller;

/// Whether a way remains. Lock the user (`tx.users().lock`) before the removal and ask after it, in the same transaction, and drop that
/// when none does: of two that remove the last two ways at once, the second one then sees what the first one left.
pub(crate) async fn one_remains(
    tx: &mut dyn Repositories,
    caller: &Caller,
    user: UserId,
) -> Result<bool, StoreError> {
    Ok(count_ways(tx, caller, user).await? > 0)
}

/// How many ways the user has. A new kind of way adds its count here.
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
            .map(|email| Found::email(email, owner.clone()));
        let phones = profile
            .phones
            .iter()
            .map(|phone| Found::phone(phone, owner.clone()));
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
