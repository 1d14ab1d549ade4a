//! Users, e-mail addresses and phone numbers.

use std::time::Duration;

use diesel::IntoSql;
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, NullableExpressionMethods,
    OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use diesel_async::RunQueryDsl;
use vestry_domain::code::MethodId;
use vestry_domain::email::{Email, EmailIdentity};
use vestry_domain::ids::{EmailId, PhoneNumberId, UserId, WalletId};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::search::UserFilter;
use vestry_domain::user::{
    MAX_EMAILS, MAX_PHONE_NUMBERS, User, UserDisabled, UserEmail, UserPhone, UserProfile,
    UserStatus,
};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{
    AccountTrust, Attached, Moved, StoreError, StoreResult, UserPage, Users, WholeUser,
};

use super::user_search::PageOf;
use super::{Unit, dialect, in_world, read_all};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::users::{UserEmailRow, UserPhoneRow, UserRow};
use vestry_store_rows::rows::{Table, to_json};
use vestry_store_rows::schema::{user_emails, user_phones, users};

// The addresses and numbers of the user that receives one.
diesel::alias! {
    const OWN_EMAILS: Alias<OwnEmails> = user_emails as own_emails;
    const OWN_PHONES: Alias<OwnPhones> = user_phones as own_phones;
}

/// A condition on the number of rows that a user has in a table.
macro_rules! count_of {
    ($table:ident, $world:expr, $user:expr) => {
        in_world!($table, $world)
            .filter($table::user_id.eq($user))
            .count()
            .single_value()
    };
}

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

    async fn lock_owner(&mut self, world: &World, method: MethodId) -> StoreResult<Option<User>> {
        let locked = match method {
            MethodId::Email(id) => {
                let owner = in_world!(user_emails, world)
                    .filter(user_emails::id.eq(id.to_string()))
                    .select(user_emails::user_id)
                    .single_value();
                let row = in_world!(users, world).filter(users::id.nullable().eq(owner));
                let update = diesel::update(row).set(users::updated_at.eq(users::updated_at));
                let update = update.returning(UserRow::as_select());
                Prepared(update)
                    .get_result(self.writing()?)
                    .await
                    .optional()
            }
            MethodId::Phone(id) => {
                let owner = in_world!(user_phones, world)
                    .filter(user_phones::id.eq(id.to_string()))
                    .select(user_phones::user_id)
                    .single_value();
                let row = in_world!(users, world).filter(users::id.nullable().eq(owner));
                let update = diesel::update(row).set(users::updated_at.eq(users::updated_at));
                let update = update.returning(UserRow::as_select());
                Prepared(update)
                    .get_result(self.writing()?)
                    .await
                    .optional()
            }
        };
        self.done(locked)?.map(User::try_from).transpose()
    }

    async fn holdings(&mut self, world: &World, id: UserId) -> StoreResult<AccountTrust> {
        self.holdings_of(world, id).await
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

    async fn found(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<()> {
        let pending = in_world!(users, world)
            .filter(users::id.eq(id.to_string()))
            .filter(users::status.eq(UserStatus::Pending.as_str()));
        let update = diesel::update(pending).set((
            users::founded.eq(true),
            users::status.eq(UserStatus::Active.as_str()),
            users::updated_at.eq(at.unix()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        if self.done(updated)? == 1 {
            let changes = [(UserStatus::Pending, -1), (UserStatus::Active, 1)];
            return self.count_user(world, id, changes).await;
        }
        let unfounded = in_world!(users, world)
            .filter(users::id.eq(id.to_string()))
            .filter(users::founded.eq(false));
        let update = diesel::update(unfounded).set(users::founded.eq(true));
        let founded = dialect::defer!(self.writing()?, Prepared(update)).await;
        self.done(founded)
    }

    async fn name_successor(
        &mut self,
        world: &World,
        method: MethodId,
        successor: UserId,
        seen: Option<UserId>,
    ) -> StoreResult<bool> {
        let (successor, seen) = (successor.to_string(), seen.map(|id| id.to_string()));
        let named = match method {
            MethodId::Email(id) => {
                let replaceable =
                    (user_emails::successor.is_null()).or(user_emails::successor.eq(seen));
                let claim = in_world!(user_emails, world)
                    .filter(user_emails::id.eq(id.to_string()))
                    .filter(user_emails::verified.eq(false))
                    .filter(replaceable);
                let update = diesel::update(claim).set(user_emails::successor.eq(successor));
                Prepared(update).execute(self.writing()?).await
            }
            MethodId::Phone(id) => {
                let replaceable =
                    (user_phones::successor.is_null()).or(user_phones::successor.eq(seen));
                let claim = in_world!(user_phones, world)
                    .filter(user_phones::id.eq(id.to_string()))
                    .filter(user_phones::verified.eq(false))
                    .filter(replaceable);
                let update = diesel::update(claim).set(user_phones::successor.eq(successor));
                Prepared(update).execute(self.writing()?).await
            }
        };
        Ok(self.done(named)? == 1)
    }

    async fn attach_email(&mut self, world: &World, email: &UserEmail) -> StoreResult<Attached> {
        self.hold_user(world, email.user_id).await?;
        let user = email.user_id.to_string();
        let owner = in_world!(users, world)
            .filter(users::id.eq(user.clone()))
            .filter(count_of!(user_emails, world, user).lt(most(MAX_EMAILS)));
        let row = owner.select((
            users::app_id,
            users::environment,
            email.id.to_string().into_sql::<Text>(),
            users::id,
            email.email.address().into_sql::<Text>(),
            email.email.identity().as_str().into_sql::<Text>(),
            email.verified.into_sql::<Bool>(),
            email.created_at.unix().into_sql::<BigInt>(),
            email.updated_at.unix().into_sql::<BigInt>(),
            email
                .successor
                .map(|id| id.to_string())
                .into_sql::<Nullable<Text>>(),
            email.of_founded.into_sql::<Bool>(),
            email.email.folded().into_sql::<Text>(),
        ));
        let insert = diesel::insert_into(user_emails::table)
            .values(row)
            .into_columns((
                user_emails::app_id,
                user_emails::environment,
                user_emails::id,
                user_emails::user_id,
                user_emails::address,
                user_emails::identity,
                user_emails::verified,
                user_emails::created_at,
                user_emails::updated_at,
                user_emails::successor,
                user_emails::of_founded,
                user_emails::folded,
            ))
            .on_conflict_do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        if self.done(inserted)? == 1 {
            return Ok(Attached::Yes);
        }
        let own = self.emails_of(world, email.user_id).await?;
        self.refused(world, email.user_id, own, MAX_EMAILS).await
    }

    async fn email_by_identity(
        &mut self,
        world: &World,
        identity: &EmailIdentity,
    ) -> StoreResult<Option<(UserEmail, User)>> {
        let owner = (users::app_id.eq(user_emails::app_id))
            .and(users::environment.eq(user_emails::environment))
            .and(users::id.eq(user_emails::user_id));
        let query = in_world!(user_emails, world)
            .filter(user_emails::identity.eq(identity.as_str()))
            .inner_join(users::table.on(owner))
            .select((UserEmailRow::as_select(), UserRow::as_select()));
        let found = query.first(self.reading()?).await.optional();
        let Some((email, user)) = self.done(found)? else {
            return Ok(None);
        };
        Ok(Some((email.try_into()?, user.try_into()?)))
    }

    async fn email(&mut self, world: &World, id: EmailId) -> StoreResult<Option<UserEmail>> {
        let query = in_world!(user_emails, world)
            .filter(user_emails::id.eq(id.to_string()))
            .select(UserEmailRow::as_select());
        let found = query.first(self.reading()?).await.optional();
        self.done(found)?.map(UserEmail::try_from).transpose()
    }

    async fn verify_email(
        &mut self,
        world: &World,
        id: EmailId,
        spelling: &Email,
        at: Timestamp,
    ) -> StoreResult<()> {
        let unverified = in_world!(user_emails, world)
            .filter(user_emails::id.eq(id.to_string()))
            .filter(user_emails::identity.eq(spelling.identity().as_str().to_owned()))
            .filter(user_emails::verified.eq(false));
        let update = diesel::update(unverified).set((
            user_emails::verified.eq(true),
            user_emails::address.eq(spelling.address().to_owned()),
            user_emails::successor.eq(None::<String>),
            user_emails::updated_at.eq(at.unix()),
        ));
        let updated = dialect::defer!(self.writing()?, Prepared(update)).await;
        self.done(updated)
    }

    async fn move_email(&mut self, world: &World, id: EmailId, to: UserId) -> StoreResult<Moved> {
        let own = OWN_EMAILS
            .filter(
                OWN_EMAILS
                    .field(user_emails::app_id)
                    .eq(world.app_id.to_string()),
            )
            .filter(
                OWN_EMAILS
                    .field(user_emails::environment)
                    .eq(world.environment.as_str()),
            )
            .filter(OWN_EMAILS.field(user_emails::user_id).eq(to.to_string()))
            .count()
            .single_value();
        let unverified = in_world!(user_emails, world)
            .filter(user_emails::id.eq(id.to_string()))
            .filter(user_emails::verified.eq(false))
            .filter(own.lt(most(MAX_EMAILS)));
        let update = diesel::update(unverified).set((
            user_emails::user_id.eq(to.to_string()),
            user_emails::successor.eq(None::<String>),
        ));
        let moved = Prepared(update).execute(self.writing()?).await;
        if self.done(moved)? == 1 {
            return Ok(Moved::Yes);
        }
        Ok(not_moved(self.emails_of(world, to).await?, MAX_EMAILS))
    }

    async fn remove_email(&mut self, world: &World, id: EmailId) -> StoreResult<bool> {
        let row = in_world!(user_emails, world).filter(user_emails::id.eq(id.to_string()));
        let deleted = diesel::delete(row).execute(self.writing()?).await;
        Ok(self.done(deleted)? == 1)
    }

    async fn attach_phone(&mut self, world: &World, phone: &UserPhone) -> StoreResult<Attached> {
        self.hold_user(world, phone.user_id).await?;
        let user = phone.user_id.to_string();
        let owner = in_world!(users, world)
            .filter(users::id.eq(user.clone()))
            .filter(count_of!(user_phones, world, user).lt(most(MAX_PHONE_NUMBERS)));
        let row = owner.select((
            users::app_id,
            users::environment,
            phone.id.to_string().into_sql::<Text>(),
            users::id,
            phone.number.as_str().into_sql::<Text>(),
            phone.verified.into_sql::<Bool>(),
            phone.created_at.unix().into_sql::<BigInt>(),
            phone.updated_at.unix().into_sql::<BigInt>(),
            phone
                .successor
                .map(|id| id.to_string())
                .into_sql::<Nullable<Text>>(),
            phone.of_founded.into_sql::<Bool>(),
        ));
        let insert = diesel::insert_into(user_phones::table)
            .values(row)
            .into_columns((
                user_phones::app_id,
                user_phones::environment,
                user_phones::id,
                user_phones::user_id,
                user_phones::number,
                user_phones::verified,
                user_phones::created_at,
                user_phones::updated_at,
                user_phones::successor,
                user_phones::of_founded,
            ))
            .on_conflict_do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        if self.done(inserted)? == 1 {
            return Ok(Attached::Yes);
        }
        let own = self.phones_of(world, phone.user_id).await?;
        self.refused(world, phone.user_id, own, MAX_PHONE_NUMBERS)
            .await
    }

    async fn phone_by_number(
        &mut self,
        world: &World,
        number: &PhoneNumber,
    ) -> StoreResult<Option<(UserPhone, User)>> {
        let owner = (users::app_id.eq(user_phones::app_id))
            .and(users::environment.eq(user_phones::environment))
            .and(users::id.eq(user_phones::user_id));
        let query = in_world!(user_phones, world)
            .filter(user_phones::number.eq(number.as_str()))
            .inner_join(users::table.on(owner))
            .select((UserPhoneRow::as_select(), UserRow::as_select()));
        let found = query.first(self.reading()?).await.optional();
        let Some((phone, user)) = self.done(found)? else {
            return Ok(None);
        };
        Ok(Some((phone.try_into()?, user.try_into()?)))
    }

    async fn phone(&mut self, world: &World, id: PhoneNumberId) -> StoreResult<Option<UserPhone>> {
        let query = in_world!(user_phones, world)
            .filter(user_phones::id.eq(id.to_string()))
            .select(UserPhoneRow::as_select());
        let found = query.first(self.reading()?).await.optional();
        self.done(found)?.map(UserPhone::try_from).transpose()
    }

    async fn verify_phone(
        &mut self,
        world: &World,
        id: PhoneNumberId,
        at: Timestamp,
    ) -> StoreResult<()> {
        let unverified = in_world!(user_phones, world)
            .filter(user_phones::id.eq(id.to_string()))
            .filter(user_phones::verified.eq(false));
        let update = diesel::update(unverified).set((
            user_phones::verified.eq(true),
            user_phones::successor.eq(None::<String>),
            user_phones::updated_at.eq(at.unix()),
        ));
        let updated = dialect::defer!(self.writing()?, Prepared(update)).await;
        self.done(updated)
    }

    async fn move_phone(
        &mut self,
        world: &World,
        id: PhoneNumberId,
        to: UserId,
    ) -> StoreResult<Moved> {
        let own = OWN_PHONES
            .filter(
                OWN_PHONES
                    .field(user_phones::app_id)
                    .eq(world.app_id.to_string()),
            )
            .filter(
                OWN_PHONES
                    .field(user_phones::environment)
                    .eq(world.environment.as_str()),
            )
            .filter(OWN_PHONES.field(user_phones::user_id).eq(to.to_string()))
            .count()
            .single_value();
        let unverified = in_world!(user_phones, world)
            .filter(user_phones::id.eq(id.to_string()))
            .filter(user_phones::verified.eq(false))
            .filter(own.lt(most(MAX_PHONE_NUMBERS)));
        let update = diesel::update(unverified).set((
            user_phones::user_id.eq(to.to_string()),
            user_phones::successor.eq(None::<String>),
        ));
        let moved = Prepared(update).execute(self.writing()?).await;
        if self.done(moved)? == 1 {
            return Ok(Moved::Yes);
        }
        Ok(not_moved(
            self.phones_of(world, to).await?,
            MAX_PHONE_NUMBERS,
        ))
    }

    async fn remove_phone(&mut self, world: &World, id: PhoneNumberId) -> StoreResult<bool> {
        let row = in_world!(user_phones, world).filter(user_phones::id.eq(id.to_string()));
        let deleted = diesel::delete(row).execute(self.writing()?).await;
        Ok(self.done(deleted)? == 1)
    }
}

impl Unit {
    /// Locks a user before their rows are counted, so that the next statement sees everything that is committed.
    async fn hold_user(&mut self, world: &World, id: UserId) -> StoreResult<()> {
        let row = in_world!(users, world).filter(users::id.eq(id.to_string()));
        let update = diesel::update(row).set(users::updated_at.eq(users::updated_at));
        let held = dialect::defer!(self.writing()?, Prepared(update)).await;
        self.done(held)
    }

    async fn emails_of(&mut self, world: &World, user: UserId) -> StoreResult<i64> {
        let of_user =
            in_world!(user_emails, world).filter(user_emails::user_id.eq(user.to_string()));
        let counted = of_user.count().get_result(self.reading()?).await;
        self.done(counted)
    }

    async fn phones_of(&mut self, world: &World, user: UserId) -> StoreResult<i64> {
        let of_user =
            in_world!(user_phones, world).filter(user_phones::user_id.eq(user.to_string()));
        let counted = of_user.count().get_result(self.reading()?).await;
        self.done(counted)
    }

    /// Returns why nothing was attached to a user who has this many of the kind.
    async fn refused(
        &mut self,
        world: &World,
        user: UserId,
        counted: i64,
        limit: usize,
    ) -> StoreResult<Attached> {
        if counted >= most(limit) {
            return Ok(Attached::Full);
        }
        let user = in_world!(users, world).filter(users::id.eq(user.to_string()));
        let found = user.count().get_result::<i64>(self.reading()?).await;
        match self.done(found)? {
            // Deleted since it was read; the next attempt finds that out.
            0 => Err(StoreError::Retry),
            _ => Ok(Attached::Taken),
        }
    }
}

/// Converts a limit to the databases' number type.
fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Returns why nothing was moved to a user who has this many of the kind.
fn not_moved(own: i64, limit: usize) -> Moved {
    if own >= most(limit) {
        Moved::Full
    } else {
        Moved::Gone
    }
}
