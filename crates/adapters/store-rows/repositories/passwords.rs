//! Passwords of users.

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, QueryDsl, SelectableHelper,
};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::envelope::Sealed;
use vestry_domain::ids::UserId;
use vestry_domain::password::StoredPassword;
use vestry_ports::port;
use vestry_ports::store::{PasswordHolder, Passwords, StoreResult};

use super::{Unit, in_world, load_first};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::passwords::{PasswordHolderRow, PasswordRow};
use vestry_store_rows::schema::{passwords, users};

#[port]
impl Passwords for Unit {
    async fn find(&mut self, world: &World, user: UserId) -> StoreResult<Option<StoredPassword>> {
        let query = in_world!(passwords, world)
            .filter(passwords::user_id.eq(user.to_string()))
            .select(PasswordRow::as_select());
        load_first!(self, query)
    }

    async fn holder(&mut self, world: &World, user: UserId) -> StoreResult<Option<PasswordHolder>> {
        let its_password = (passwords::app_id.eq(users::app_id))
            .and(passwords::environment.eq(users::environment))
            .and(passwords::user_id.eq(users::id));
        let query = in_world!(users, world)
            .filter(users::id.eq(user.to_string()))
            .left_join(passwords::table.on(its_password))
            .select(PasswordHolderRow::as_select());
        load_first!(self, query)
    }

    async fn put(&mut self, password: &StoredPassword) -> StoreResult<()> {
        let upsert = diesel::insert_into(passwords::table)
            .values(PasswordRow::from(password))
            .on_conflict((
                passwords::app_id,
                passwords::environment,
                passwords::user_id,
            ))
            .do_update()
            .set((
                passwords::key_version.eq(i64::from(password.sealed.key_version)),
                passwords::sealed.eq(&password.sealed.bytes),
                passwords::updated_at.eq(password.updated_at.unix()),
            ));
        let put = Prepared(upsert).execute(self.writing()?).await;
        self.done(put).map(drop)
    }

    async fn swap(
        &mut self,
        password: &StoredPassword,
        seen: Option<&Sealed>,
    ) -> StoreResult<bool> {
        let swapped = match seen {
            None => {
                diesel::insert_into(passwords::table)
                    .values(PasswordRow::from(password))
                    .on_conflict_do_nothing()
                    .execute(self.writing()?)
                    .await
            }
            Some(seen) => {
                // Every encryption uses a fresh nonce, so equal bytes mean the same row that was read.
                let same = in_world!(passwords, password.world)
                    .filter(passwords::user_id.eq(password.user_id.to_string()))
                    .filter(passwords::key_version.eq(i64::from(seen.key_version)))
                    .filter(passwords::sealed.eq(&seen.bytes));
                let update = diesel::update(same).set((
                    passwords::key_version.eq(i64::from(password.sealed.key_version)),
                    passwords::sealed.eq(&password.sealed.bytes),
                    passwords::updated_at.eq(password.updated_at.unix()),
                ));
                Prepared(update).execute(self.writing()?).await
            }
        };
        Ok(self.done(swapped)? == 1)
    }

    async fn remove(&mut self, world: &World, user: UserId) -> StoreResult<bool> {
        let row = in_world!(passwords, world).filter(passwords::user_id.eq(user.to_string()));
        let deleted = diesel::delete(row).execute(self.writing()?).await;
        Ok(self.done(deleted)? == 1)
    }
}
