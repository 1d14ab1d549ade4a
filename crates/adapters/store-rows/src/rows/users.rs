//! Rows of users and their identifiers.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::email::Email;
use vestry_domain::metadata::Metadata;
use vestry_domain::phone::PhoneNumber;
use vestry_domain::user::{User, UserDisabled, UserEmail, UserPhone};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{StoreError, StoreResult};

use super::{Table, to_json};
use crate::schema::{user_emails, user_phones, users};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = users, treat_none_as_default_value = false)]
pub struct UserRow {
    app_id: String,
    environment: String,
    id: String,
    first_name: String,
    middle_name: String,
    last_name: String,
    status: String,
    metadata: String,
    created_at: i64,
    updated_at: i64,
    folded_name: String,
    is_owned: bool,
    disabled_at: Option<i64>,
    disabled_reason: Option<String>,
    last_sign_in_at: Option<i64>,
}

impl TryFrom<&User> for UserRow {
    type Error = StoreError;

    fn try_from(user: &User) -> StoreResult<Self> {
        Ok(Self {
            app_id: user.world.app_id.to_string(),
            environment: user.world.environment.to_string(),
            id: user.id.to_string(),
            first_name: user.first_name.clone(),
            middle_name: user.middle_name.clone(),
            last_name: user.last_name.clone(),
            status: user.status.to_string(),
            metadata: to_json(user.metadata.as_object())?,
            created_at: user.created_at.unix(),
            updated_at: user.updated_at.unix(),
            folded_name: user.folded_name(),
            is_owned: user.is_owned,
            disabled_at: user.disabled.as_ref().map(|disabled| disabled.at.unix()),
            disabled_reason: user
                .disabled
                .as_ref()
                .map(|disabled| disabled.reason.clone()),
            last_sign_in_at: user.last_sign_in_at.map(Timestamp::unix),
        })
    }
}

impl TryFrom<UserRow> for User {
    type Error = StoreError;

    fn try_from(row: UserRow) -> StoreResult<Self> {
        let table = Table("users");
        Ok(Self {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            status: table.parse("status", &row.status)?,
            metadata: Metadata::stored(table.json("metadata", &row.metadata)?),
            first_name: row.first_name,
            middle_name: row.middle_name,
            last_name: row.last_name,
            created_at: Timestamp::from_unix(row.created_at),
            updated_at: Timestamp::from_unix(row.updated_at),
            is_owned: row.is_owned,
            disabled: row.disabled_at.map(|at| UserDisabled {
                at: Timestamp::from_unix(at),
                reason: row.disabled_reason.unwrap_or_default(),
            }),
            last_sign_in_at: row.last_sign_in_at.map(Timestamp::from_unix),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = user_emails, treat_none_as_default_value = false)]
pub struct UserEmailRow {
    pub(super) app_id: String,
    pub(super) environment: String,
    id: String,
    user_id: String,
    address: String,
    identity: String,
    verified: bool,
    created_at: i64,
    updated_at: i64,
    pending_owner: Option<String>,
    of_owned: bool,
    folded: String,
}

impl UserEmailRow {
    pub fn new(world: &World, email: &UserEmail) -> Self {
        Self {
            app_id: world.app_id.to_string(),
            environment: world.environment.to_string(),
            id: email.id.to_string(),
            user_id: email.user_id.to_string(),
            address: email.email.address().to_owned(),
            identity: email.email.identity().as_str().to_owned(),
            verified: email.verified,
            created_at: email.created_at.unix(),
            updated_at: email.updated_at.unix(),
            pending_owner: email.pending_owner.map(|id| id.to_string()),
            of_owned: email.of_owned,
            folded: email.email.folded(),
        }
    }
}

impl TryFrom<UserEmailRow> for UserEmail {
    type Error = StoreError;

    fn try_from(row: UserEmailRow) -> StoreResult<Self> {
        let table = Table("user_emails");
        let email = Email::parse(&row.address).map_err(|_unreadable| table.corrupt("address"))?;
        // The stored identity decides which user owns an address; mail is sent to the address.
        if email.identity().as_str() != row.identity {
            return Err(table.corrupt("identity"));
        }
        let pending_owner = row
            .pending_owner
            .map(|id| table.parse("pending_owner", &id));
        Ok(Self {
            id: table.parse("id", &row.id)?,
            user_id: table.parse("user_id", &row.user_id)?,
            email,
            verified: row.verified,
            created_at: Timestamp::from_unix(row.created_at),
            updated_at: Timestamp::from_unix(row.updated_at),
            pending_owner: pending_owner.transpose()?,
            of_owned: row.of_owned,
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = user_phones, treat_none_as_default_value = false)]
pub struct UserPhoneRow {
    pub(super) app_id: String,
    pub(super) environment: String,
    id: String,
    user_id: String,
    number: String,
    verified: bool,
    created_at: i64,
    updated_at: i64,
    pending_owner: Option<String>,
    of_owned: bool,
}

impl UserPhoneRow {
    pub fn new(world: &World, phone: &UserPhone) -> Self {
        Self {
            app_id: world.app_id.to_string(),
            environment: world.environment.to_string(),
            id: phone.id.to_string(),
            user_id: phone.user_id.to_string(),
            number: phone.number.as_str().to_owned(),
            verified: phone.verified,
            created_at: phone.created_at.unix(),
            updated_at: phone.updated_at.unix(),
            pending_owner: phone.pending_owner.map(|id| id.to_string()),
            of_owned: phone.of_owned,
        }
    }
}

impl TryFrom<UserPhoneRow> for UserPhone {
    type Error = StoreError;

    fn try_from(row: UserPhoneRow) -> StoreResult<Self> {
        let table = Table("user_phones");
        let pending_owner = row
            .pending_owner
            .map(|id| table.parse("pending_owner", &id));
        Ok(Self {
            id: table.parse("id", &row.id)?,
            user_id: table.parse("user_id", &row.user_id)?,
            number: PhoneNumber::stored(row.number)
                .map_err(|_unreadable| table.corrupt("number"))?,
            verified: row.verified,
            created_at: Timestamp::from_unix(row.created_at),
            updated_at: Timestamp::from_unix(row.updated_at),
            pending_owner: pending_owner.transpose()?,
            of_owned: row.of_owned,
        })
    }
}
