//! A summary of what a user has, from a single query.

use diesel::dsl::{exists, select};
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::ids::UserId;
use vestry_ports::store::{AccountTrust, StoreResult};

use super::{Unit, in_world};
use vestry_store_rows::schema::{
    magic_links, passkey_challenges, passkey_handles, passkeys, passwords, provider_links,
    sessions, totps, user_emails, user_phones, wallet_challenges, wallet_imports, wallets,
};

/// Whether a table has a row of this user.
macro_rules! has {
    ($table:ident, $world:expr, $user:expr) => {
        exists(in_world!($table, $world).filter($table::user_id.eq($user)))
    };
}

impl Unit {
    /// Reads every table that the first verification clears, under the same conditions.
    pub(super) async fn account_trust_of(
        &mut self,
        world: &World,
        id: UserId,
    ) -> StoreResult<AccountTrust> {
        let user = id.to_string();
        let emails = in_world!(user_emails, world)
            .filter(user_emails::user_id.eq(&user))
            .filter(user_emails::verified.eq(true));
        let phones = in_world!(user_phones, world)
            .filter(user_phones::user_id.eq(&user))
            .filter(user_phones::verified.eq(true));
        let links = in_world!(magic_links, world)
            .filter(magic_links::user_id.eq(&user))
            .filter(magic_links::used_at.is_null());
        let living = in_world!(sessions, world)
            .filter(sessions::user_id.eq(&user))
            .filter(sessions::deleted_at.is_null());
        let has_unverified_credentials = has!(totps, world, &user)
            .or(has!(wallet_challenges, world, &user))
            .or(has!(wallet_imports, world, &user))
            .or(has!(wallets, world, &user))
            .or(has!(passwords, world, &user))
            .or(has!(passkey_challenges, world, &user))
            .or(has!(passkey_handles, world, &user))
            .or(has!(passkeys, world, &user))
            .or(has!(provider_links, world, &user))
            .or(exists(links))
            .or(exists(living));
        let query = select((
            exists(emails).or(exists(phones)),
            has_unverified_credentials,
        ));
        let found = query.get_result(self.reading()?).await;
        let (has_verified_identifier, has_unverified_credentials) = self.done(found)?;
        Ok(AccountTrust {
            has_verified_identifier,
            has_unverified_credentials,
        })
    }
}
