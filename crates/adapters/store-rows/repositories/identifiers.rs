//! E-mail addresses and phone numbers: one table for each kind.

use diesel::IntoSql;
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, NullableExpressionMethods,
    OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use diesel_async::RunQueryDsl;
use vestry_domain::code::MethodId;
use vestry_domain::email::{Email, EmailIdentity};
use vestry_domain::ids::{EmailId, PhoneNumberId, UserId};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::user::{MAX_EMAILS, MAX_PHONE_NUMBERS, User, UserEmail, UserPhone};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Attached, Identifier, Identifiers, Moved, StoreError, StoreResult};

use super::{Unit, dialect, in_world};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::users::{UserEmailRow, UserPhoneRow, UserRow};
use vestry_store_rows::schema::{user_emails, user_phones, users};

/// Evaluates an expression for the table of an identifier, under the given name.
macro_rules! in_table {
    ($id:expr, |$table:ident| $body:expr) => {
        match $id {
            MethodId::Email(_) => {
                use vestry_store_rows::schema::user_emails as $table;
                $body
            }
            MethodId::Phone(_) => {
                use vestry_store_rows::schema::user_phones as $table;
                $body
            }
        }
    };
}

/// Reads an identifier by its id.
macro_rules! find {
    ($unit:ident, $world:expr, $id:expr, $table:ident, $row:ident, $model:ident) => {{
        let query = in_world!($table, $world)
            .filter($table::id.eq($id.to_string()))
            .select($row::as_select());
        let found = query.first($unit.reading()?).await.optional();
        let found = $unit.done(found)?.map($model::try_from).transpose()?;
        Ok(found.map(Identifier::from))
    }};
}

/// Reads an identifier by its unique column, with its owner.
macro_rules! find_with_owner {
    ($unit:ident, $world:expr, $table:ident, $condition:expr, $row:ident) => {{
        let owner = (users::app_id.eq($table::app_id))
            .and(users::environment.eq($table::environment))
            .and(users::id.eq($table::user_id));
        let query = in_world!($table, $world)
            .filter($condition)
            .inner_join(users::table.on(owner))
            .select(($row::as_select(), UserRow::as_select()));
        let found = query.first($unit.reading()?).await.optional();
        let Some((row, owner)) = $unit.done(found)? else {
            return Ok(None);
        };
        Ok(Some((row.try_into()?, owner.try_into()?)))
    }};
}

/// The user in a table of identifiers, unless the user has reached the limit for the kind.
macro_rules! with_room {
    ($table:ident, $world:expr, $user:expr, $limit:expr) => {{
        let own = in_world!($table, $world)
            .filter($table::user_id.eq($user.to_string()))
            .count()
            .single_value();
        in_world!(users, $world)
            .filter(users::id.eq($user.to_string()))
            .filter(own.lt($limit))
    }};
}

#[port]
impl Identifiers for Unit {
    async fn attach(&mut self, world: &World, identifier: Identifier) -> StoreResult<Attached> {
        let (id, user) = (identifier.id(), identifier.user_id());
        self.hold_user(world, user).await?;
        let inserted = match identifier {
            Identifier::Email(email) => {
                let row = with_room!(user_emails, world, user, limit(id)).select((
                    users::app_id,
                    users::environment,
                    email.id.to_string().into_sql::<Text>(),
                    users::id,
                    email.email.address().into_sql::<Text>(),
                    email.email.identity().as_str().into_sql::<Text>(),
                    email.verified.into_sql::<Bool>(),
                    email.created_at.unix().into_sql::<BigInt>(),
                    email.updated_at.unix().into_sql::<BigInt>(),
                    (email.pending_owner.map(|id| id.to_string())).into_sql::<Nullable<Text>>(),
                    email.of_owned.into_sql::<Bool>(),
                    email.email.folded().into_sql::<Text>(),
                ));
                let insert = diesel::insert_into(user_emails::table)
                    .values(row)
                    .into_columns(user_emails::all_columns)
                    .on_conflict_do_nothing();
                insert.execute(self.writing()?).await
            }
            Identifier::Phone(phone) => {
                let row = with_room!(user_phones, world, user, limit(id)).select((
                    users::app_id,
                    users::environment,
                    phone.id.to_string().into_sql::<Text>(),
                    users::id,
                    phone.number.as_str().into_sql::<Text>(),
                    phone.verified.into_sql::<Bool>(),
                    phone.created_at.unix().into_sql::<BigInt>(),
                    phone.updated_at.unix().into_sql::<BigInt>(),
                    (phone.pending_owner.map(|id| id.to_string())).into_sql::<Nullable<Text>>(),
                    phone.of_owned.into_sql::<Bool>(),
                ));
                let insert = diesel::insert_into(user_phones::table)
                    .values(row)
                    .into_columns(user_phones::all_columns)
                    .on_conflict_do_nothing();
                insert.execute(self.writing()?).await
            }
        };
        if self.done(inserted)? == 1 {
            return Ok(Attached::Yes);
        }
        if self.is_full(world, id, user).await? {
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

    async fn find(&mut self, world: &World, id: MethodId) -> StoreResult<Option<Identifier>> {
        match id {
            MethodId::Email(id) => {
                find!(self, world, id, user_emails, UserEmailRow, UserEmail)
            }
            MethodId::Phone(id) => {
                find!(self, world, id, user_phones, UserPhoneRow, UserPhone)
            }
        }
    }

    async fn email_by_identity(
        &mut self,
        world: &World,
        identity: &EmailIdentity,
    ) -> StoreResult<Option<(UserEmail, User)>> {
        let condition = user_emails::identity.eq(identity.as_str());
        find_with_owner!(self, world, user_emails, condition, UserEmailRow)
    }

    async fn phone_by_number(
        &mut self,
        world: &World,
        number: &PhoneNumber,
    ) -> StoreResult<Option<(UserPhone, User)>> {
        let condition = user_phones::number.eq(number.as_str());
        find_with_owner!(self, world, user_phones, condition, UserPhoneRow)
    }

    async fn lock_owner(&mut self, world: &World, id: MethodId) -> StoreResult<Option<User>> {
        let locked = in_table!(id, |identifiers| {
            let owner = in_world!(identifiers, world)
                .filter(identifiers::id.eq(id.to_string()))
                .select(identifiers::user_id)
                .single_value();
            let row = in_world!(users, world).filter(users::id.nullable().eq(owner));
            let update = diesel::update(row).set(users::updated_at.eq(users::updated_at));
            let update = Prepared(update.returning(UserRow::as_select()));
            update.get_result(self.writing()?).await.optional()
        });
        self.done(locked)?.map(User::try_from).transpose()
    }

    async fn set_pending_owner(
        &mut self,
        world: &World,
        id: MethodId,
        pending_owner: UserId,
        seen: Option<UserId>,
    ) -> StoreResult<bool> {
        let (pending_owner, seen) = (pending_owner.to_string(), seen.map(|id| id.to_string()));
        let named = in_table!(id, |identifiers| {
            let replaceable =
                (identifiers::pending_owner.is_null()).or(identifiers::pending_owner.eq(seen));
            let claim = in_world!(identifiers, world)
                .filter(identifiers::id.eq(id.to_string()))
                .filter(identifiers::verified.eq(false))
                .filter(replaceable);
            let update = diesel::update(claim).set(identifiers::pending_owner.eq(pending_owner));
            Prepared(update).execute(self.writing()?).await
        });
        Ok(self.done(named)? == 1)
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
            user_emails::pending_owner.eq(None::<String>),
            user_emails::updated_at.eq(at.unix()),
        ));
        let updated = dialect::defer!(self.writing()?, Prepared(update)).await;
        self.done(updated)
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
            user_phones::pending_owner.eq(None::<String>),
            user_phones::updated_at.eq(at.unix()),
        ));
        let updated = dialect::defer!(self.writing()?, Prepared(update)).await;
        self.done(updated)
    }

    async fn move_to(&mut self, world: &World, id: MethodId, to: UserId) -> StoreResult<Moved> {
        // The number stays as it is, because the user is locked.
        if self.is_full(world, id, to).await? {
            return Ok(Moved::Full);
        }
        let moved = in_table!(id, |identifiers| {
            let unverified = in_world!(identifiers, world)
                .filter(identifiers::id.eq(id.to_string()))
                .filter(identifiers::verified.eq(false));
            let update = diesel::update(unverified).set((
                identifiers::user_id.eq(to.to_string()),
                identifiers::pending_owner.eq(None::<String>),
            ));
            Prepared(update).execute(self.writing()?).await
        });
        Ok(match self.done(moved)? {
            0 => Moved::Gone,
            _ => Moved::Yes,
        })
    }

    async fn remove(&mut self, world: &World, id: MethodId) -> StoreResult<bool> {
        let deleted = in_table!(id, |identifiers| {
            let row = in_world!(identifiers, world).filter(identifiers::id.eq(id.to_string()));
            diesel::delete(row).execute(self.writing()?).await
        });
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

    /// Whether a user has reached the limit for this kind of identifier.
    async fn is_full(&mut self, world: &World, id: MethodId, user: UserId) -> StoreResult<bool> {
        let counted = in_table!(id, |identifiers| {
            let own =
                in_world!(identifiers, world).filter(identifiers::user_id.eq(user.to_string()));
            own.count().get_result::<i64>(self.reading()?).await
        });
        Ok(self.done(counted)? >= limit(id))
    }
}

/// Returns the maximum number of identifiers of this kind per user.
fn limit(id: MethodId) -> i64 {
    let limit = match id {
        MethodId::Email(_) => MAX_EMAILS,
        MethodId::Phone(_) => MAX_PHONE_NUMBERS,
    };
    i64::try_from(limit).unwrap_or(i64::MAX)
}
