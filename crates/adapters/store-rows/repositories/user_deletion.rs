//! Deletion of a user with everything that belongs to them.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::ids::{UserId, WalletId};
use vestry_ports::store::{StoreError, StoreResult};

use super::{Unit, in_world};
use vestry_store_rows::schema::{
    codes, imported_users, lockouts, magic_links, passkey_challenges, passkey_handles, passkeys,
    passwords, provider_links, sessions, totps, user_emails, user_metadata, user_phones, users,
    wallet_challenges, wallet_imports, wallet_keys, wallets,
};

/// Deletes the rows of each table that refer to the user, in this order: a referring row is deleted before the row it refers to.
macro_rules! delete_rows_of {
    ($unit:ident, $world:ident, $id:ident: $($table:ident)*) => {
        $(
            let rows = in_world!($table, $world).filter($table::user_id.eq(&$id));
            let deleted = diesel::delete(rows).execute($unit.writing()?).await;
            $unit.done(deleted)?;
        )*
    };
}

impl Unit {
    pub(super) async fn delete_user(
        &mut self,
        world: &World,
        user: UserId,
    ) -> StoreResult<Option<Vec<WalletId>>> {
        let id = user.to_string();
        // Codes first: a verify call locks its code before anything else, and the same lock order avoids deadlocks.
        self.delete_proofs(world, &id).await?;
        let keys = in_world!(wallets, world)
            .filter(wallets::user_id.eq(&id))
            .select(wallets::id);
        let keys = in_world!(wallet_keys, world).filter(wallet_keys::wallet_id.eq_any(keys));
        let delete = diesel::delete(keys).returning(wallet_keys::wallet_id);
        let deleted = delete.get_results(self.writing()?).await;
        let deleted: Vec<String> = self.done(deleted)?;
        let keys = deleted.iter().map(|id| {
            id.parse().map_err(|_unreadable| StoreError::Corrupt {
                table: "wallet_keys",
                column: "wallet_id",
            })
        });
        let keys = keys.collect::<Result<_, _>>()?;
        delete_rows_of!(self, world, id:
            user_emails
            user_phones
            wallets
            sessions
            totps
            passwords
            imported_users
            wallet_challenges
            passkeys
            passkey_handles
            provider_links
            magic_links
            user_metadata
        );
        let waiting =
            in_world!(passkey_challenges, world).filter(passkey_challenges::user_id.eq(&id));
        let deleted = diesel::delete(waiting).execute(self.writing()?).await;
        self.done(deleted)?;
        let open = in_world!(wallet_imports, world).filter(wallet_imports::user_id.eq(&id));
        let deleted = diesel::delete(open).execute(self.writing()?).await;
        self.done(deleted)?;
        // A row attached concurrently makes this fail, and the transaction is retried.
        let row = in_world!(users, world).filter(users::id.eq(&id));
        let delete = diesel::delete(row).returning(users::status);
        let deleted = delete.get_result(self.writing()?).await.optional();
        let deleted: Option<String> = self.done(deleted)?;
        let Some(status) = deleted else {
            return Ok(None);
        };
        let status = status.parse().map_err(|_unreadable| StoreError::Corrupt {
            table: "users",
            column: "status",
        })?;
        self.count_user(world, user, [(status, -1)]).await?;
        Ok(Some(keys))
    }

    /// Deletes the codes of the user's addresses and numbers, and their failure counts.
    async fn delete_proofs(&mut self, world: &World, id: &str) -> StoreResult<()> {
        let emails = in_world!(user_emails, world)
            .filter(user_emails::user_id.eq(id))
            .select(user_emails::id);
        let found = emails.load(self.reading()?).await;
        let mut methods: Vec<String> = self.done(found)?;
        let phones = in_world!(user_phones, world)
            .filter(user_phones::user_id.eq(id))
            .select(user_phones::id);
        let found = phones.load(self.reading()?).await;
        methods.append(&mut self.done(found)?);
        let rows = in_world!(codes, world).filter(codes::method_id.eq_any(&methods));
        let deleted = diesel::delete(rows).execute(self.writing()?).await;
        self.done(deleted)?;
        let rows = in_world!(lockouts, world).filter(lockouts::subject.eq_any(&methods));
        let deleted = diesel::delete(rows).execute(self.writing()?).await;
        self.done(deleted).map(drop)
    }
}
