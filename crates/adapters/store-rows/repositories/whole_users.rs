//! Users with everything that belongs to them.

use std::collections::{HashMap, HashSet};

use vestry_domain::World;
use vestry_domain::ids::UserId;
use vestry_domain::passkey::Passkey;
use vestry_domain::provider::ProviderLink;
use vestry_domain::totp::Totp;
use vestry_domain::user::{User, UserEmail, UserPhone, UserProfile};
use vestry_domain::wallet::StoredWallet;
use vestry_ports::store::{StoreError, StoreResult, WholeUser};

use super::dialect::whole_user_rows;
use super::{Unit, read_all};
use vestry_store_rows::rows::Table;
use vestry_store_rows::rows::whole_users::{OfUser, WholeUserRows};

impl Unit {
    /// Returns the users in the requested order, in one round trip.
    pub(super) async fn whole_users(
        &mut self,
        wanted: &[(World, UserId)],
    ) -> StoreResult<Vec<Option<WholeUser>>> {
        let distinct: HashSet<_> = wanted.iter().copied().collect();
        let (distinct, is_distributed) = (distinct.into_iter().collect(), self.is_distributed());
        let rows = whole_user_rows(self.reading()?, distinct, is_distributed).await;
        let found = joined(self.done(rows)?)?;
        Ok(wanted.iter().map(|of| found.get(of).cloned()).collect())
    }
}

type Of = (World, UserId);

fn joined(rows: WholeUserRows) -> StoreResult<HashMap<Of, WholeUser>> {
    let mut emails = by_user(rows.emails, |email: &UserEmail| email.user_id)?;
    let mut phones = by_user(rows.phones, |phone: &UserPhone| phone.user_id)?;
    let mut wallets = by_user(rows.wallets, |stored: &StoredWallet| stored.wallet.user_id)?;
    let mut totps = by_user(rows.totps, |totp: &Totp| totp.user_id)?;
    let mut passkeys = by_user(rows.passkeys, |passkey: &Passkey| passkey.user_id)?;
    let mut links = by_user(rows.provider_links, |link: &ProviderLink| link.user_id)?;
    let mut external_keys = HashMap::with_capacity(rows.external_keys.len());
    for row in rows.external_keys {
        let user = Table("imported_users").parse("user_id", &row.user_id)?;
        external_keys.insert((row.world()?, user), row.external_key);
    }
    let users: Vec<User> = read_all(rows.users)?;
    let whole = users.into_iter().map(|user| {
        let of = (user.world, user.id);
        let whole = WholeUser {
            profile: UserProfile {
                user,
                emails: emails.remove(&of).unwrap_or_default(),
                phones: phones.remove(&of).unwrap_or_default(),
            },
            wallets: wallets.remove(&of).unwrap_or_default(),
            totps: totps.remove(&of).unwrap_or_default(),
            passkeys: passkeys.remove(&of).unwrap_or_default(),
            provider_links: links.remove(&of).unwrap_or_default(),
            external_key: external_keys.remove(&of),
        };
        (of, whole)
    });
    Ok(whole.collect())
}

/// Groups rows by user, keeping their order.
fn by_user<R, D>(rows: Vec<R>, user: impl Fn(&D) -> UserId) -> StoreResult<HashMap<Of, Vec<D>>>
where
    R: OfUser,
    D: TryFrom<R, Error = StoreError>,
{
    let mut by_user = HashMap::new();
    for row in rows {
        let world = row.world()?;
        let thing = D::try_from(row)?;
        let things: &mut Vec<D> = by_user.entry((world, user(&thing))).or_default();
        things.push(thing);
    }
    Ok(by_user)
}
