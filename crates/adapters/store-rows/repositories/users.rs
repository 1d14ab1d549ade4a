//! Users.

use std::time::Duration;

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::search::UserFilter;
use vestry_domain::user::{User, UserDisabled, UserProfile, UserStatus};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{AccountTrust, StoreResult, UserPage, Users, WholeUser};

use super::user_search::PageOf;
use super::{Unit, dialect, in_world, read_all};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::users::{UserEmailRow, UserPhoneRow, UserRow};
use vestry_store_rows::rows::{Table, to_json};
use vestry_store_rows::schema::{user_emails, user_phones, users};

#[port]
impl Users for Unit {
    async fn insert(&mut self, user: &User) -> StoreResult<()> {
        let row = UserRow::try_from(user)?;
        let insert = diesel::insert_into(users::table).values(row);
        let inserted = dialect::defer!(self.writing()?, insert).await;
        self.done(inserted)?;
        self.index_new_metadata(user).await?;
        self.count_user(&user.world, user.id, [(user.status, 1)])
            .await
    }

    async fn profile(&mut self, world: &World, id: UserId) -> StoreResult<Option<UserProfile>> {
        let id = id.to_string();
        let user = in_world!(users, world)
            .filter(users::id.eq(id.clone()))
            .select(UserRow::as_select());
        let emails = in_world!(user_emails, world)
            .filter(user_emails::user_id.eq(id.clone()))
            .order((user_emails::created_at, user_emails::id))
            .select(UserEmailRow::as_select());
        let phones = in_world!(user_phones, world)
            .filter(user_phones::user_id.eq(id))
            .order((user_phones::created_at, user_phones::id))
            .select(UserPhoneRow::as_select());
        let conn = self.reading()?;
        let found = dialect::load_three!(conn, user, emails, phones).await;
        let (mut user, emails, phones) = self.done(found)?;
        let Some(user) = user.pop() else {
            return Ok(None);
        };
        Ok(Some(UserProfile {
            user: user.try_into()?,
            emails: read_all(emails)?,
            phones: read_all(phones)?,
        }))
    }

    async fn find_all_whole(
        &mut self,
        wanted: &[(World, UserId)],
    ) -> StoreResult<Vec<Option<WholeUser>>> {
        self.whole_users(wanted).await
    }

    async fn search(
        &mut self,
        world: &World,
        filter: Option<&UserFilter>,
        after: Option<UserId>,
        limit: i64,
        now: Timestamp,
        within: Duration,
    ) -> StoreResult<UserPage> {
        let page = PageOf {
            filter,
            after,
            limit,
            now,
        };
        self.search_users(world, page, within).await
    }

    async fn lock(&mut self, world: &World, id: UserId) -> StoreResult<bool> {
        // Only a write locks a row on every engine.
        let row = in_world!(users, world).filter(users::id.eq(id.to_string()));
        let update = diesel::update(row).set(users::updated_at.eq(users::updated_at));
        let locked = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(locked)? == 1)
    }

    async fn account_trust(&mut self, world: &World, id: UserId) -> StoreResult<AccountTrust> {
        self.account_trust_of(world, id).await
    }

    async fn update(&mut self, user: &User) -> StoreResult<bool> {
        let row = in_world!(users, user.world).filter(users::id.eq(user.id.to_string()));
        let update = diesel::update(row).set((
            users::first_name.eq(&user.first_name),
            users::middle_name.eq(&user.middle_name),
            users::last_name.eq(&user.last_name),
            users::folded_name.eq(user.folded_name()),
            users::metadata.eq(to_json(user.metadata.as_object())?),
            users::updated_at.eq(user.updated_at.unix()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        if self.done(updated)? == 0 {
            return Ok(false);
        }
        self.index_metadata(user).await?;
        Ok(true)
    }

    async fn admit(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<bool> {
        let row = in_world!(users, world)
            .filter(users::id.eq(id.to_string()))
            .filter(users::disabled_at.is_null());
        let update = diesel::update(row).set(users::last_sign_in_at.eq(at.unix()));
        let admitted = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(admitted)? == 1)
    }

    async fn disable(
        &mut self,
        world: &World,
        id: UserId,
        disabled: &UserDisabled,
    ) -> StoreResult<bool> {
        let row = in_world!(users, world)
            .filter(users::id.eq(id.to_string()))
            .filter(users::disabled_at.is_null());
        let update = diesel::update(row).set((
            users::disabled_at.eq(disabled.at.unix()),
            users::disabled_reason.eq(&disabled.reason),
            users::updated_at.eq(disabled.at.unix()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn enable(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<bool> {
        let row = in_world!(users, world)
            .filter(users::id.eq(id.to_string()))
            .filter(users::disabled_at.is_not_null());
        let update = diesel::update(row).set((
            users::disabled_at.eq(None::<i64>),
            users::disabled_reason.eq(None::<String>),
            users::updated_at.eq(at.unix()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn delete(&mut self, world: &World, id: UserId) -> StoreResult<Option<Vec<WalletId>>> {
        self.delete_user(world, id).await
    }

    async fn walk(
        &mut self,
        world: &World,
        after: Option<UserId>,
        limit: i64,
    ) -> StoreResult<Vec<UserId>> {
        let mut query = in_world!(users, world)
            .order(users::id)
            .limit(limit)
            .select(users::id)
            .into_boxed();
        if let Some(after) = after {
            query = query.filter(users::id.gt(after.to_string()));
        }
        let found = query.load::<String>(self.reading()?).await;
        let table = Table("users");
        let ids = self.done(found)?;
        ids.iter().map(|id| table.parse("id", id)).collect()
    }

    async fn mark_owned(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<()> {
        let pending = in_world!(users, world)
            .filter(users::id.eq(id.to_string()))
            .filter(users::status.eq(UserStatus::Pending.as_str()));
        let update = diesel::update(pending).set((
            users::is_owned.eq(true),
            users::status.eq(UserStatus::Active.as_str()),
            users::updated_at.eq(at.unix()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        if self.done(updated)? == 1 {
            let changes = [(UserStatus::Pending, -1), (UserStatus::Active, 1)];
            return self.count_user(world, id, changes).await;
        }
        let without_owner = in_world!(users, world)
            .filter(users::id.eq(id.to_string()))
            .filter(users::is_owned.eq(false));
        let update = diesel::update(without_owner).set(users::is_owned.eq(true));
        let marked = dialect::defer!(self.writing()?, Prepared(update)).await;
        self.done(marked)
    }
}
