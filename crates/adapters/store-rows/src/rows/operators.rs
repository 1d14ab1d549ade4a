//! Rows of operators and of the links that let them in.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::email::Email;
use vestry_domain::ids::AppId;
use vestry_domain::operator::{Grants, Operator, OperatorLink};
use vestry_domain::token::TokenHash;
use vestry_ports::store::{StoreError, StoreResult};

use super::{Table, to_json};
use crate::schema::{operator_links, operators};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = operators)]
pub struct OperatorRow {
    app_id: String,
    user_id: String,
    grants: String,
    created_by: String,
    created_at: i64,
    updated_at: i64,
}

impl TryFrom<&Operator> for OperatorRow {
    type Error = StoreError;

    fn try_from(operator: &Operator) -> StoreResult<Self> {
        Ok(Self {
            app_id: AppId::BUILT_IN.to_string(),
            user_id: operator.user_id.to_string(),
            grants: to_json(&operator.grants)?,
            created_by: operator.created_by.to_string(),
            created_at: operator.created_at.unix(),
            updated_at: operator.updated_at.unix(),
        })
    }
}

impl TryFrom<OperatorRow> for Operator {
    type Error = StoreError;

    fn try_from(row: OperatorRow) -> StoreResult<Self> {
        let table = Table("operators");
        Ok(Self {
            user_id: table.parse("user_id", &row.user_id)?,
            grants: grants(&table, &row.grants)?,
            created_by: table.parse("created_by", &row.created_by)?,
            created_at: Timestamp::from_unix(row.created_at),
            updated_at: Timestamp::from_unix(row.updated_at),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = operator_links, treat_none_as_default_value = false)]
pub struct OperatorLinkRow {
    app_id: String,
    id: String,
    hash: Vec<u8>,
    address: String,
    identity: String,
    grants: Option<String>,
    created_by: String,
    created_at: i64,
    expires_at: i64,
    used_at: Option<i64>,
}

impl TryFrom<&OperatorLink> for OperatorLinkRow {
    type Error = StoreError;

    fn try_from(link: &OperatorLink) -> StoreResult<Self> {
        Ok(Self {
            app_id: AppId::BUILT_IN.to_string(),
            id: link.id.to_string(),
            hash: link.hash.0.to_vec(),
            address: link.email.address().to_owned(),
            identity: link.email.identity().as_str().to_owned(),
            grants: link.grants.as_ref().map(to_json).transpose()?,
            created_by: link.created_by.to_string(),
            created_at: link.created_at.unix(),
            expires_at: link.expires_at.unix(),
            used_at: link.used_at.map(Timestamp::unix),
        })
    }
}

impl TryFrom<OperatorLinkRow> for OperatorLink {
    type Error = StoreError;

    fn try_from(row: OperatorLinkRow) -> StoreResult<Self> {
        let table = Table("operator_links");
        let email = Email::parse(&row.address);
        let email = email.map_err(|_unreadable| table.corrupt("address"))?;
        if email.identity().as_str() != row.identity {
            return Err(table.corrupt("identity"));
        }
        let grants = row.grants.as_deref().map(|text| grants(&table, text));
        Ok(Self {
            id: table.parse("id", &row.id)?,
            hash: TokenHash(table.digest("hash", &row.hash)?),
            email,
            grants: grants.transpose()?,
            created_by: table.parse("created_by", &row.created_by)?,
            created_at: Timestamp::from_unix(row.created_at),
            expires_at: Timestamp::from_unix(row.expires_at),
            used_at: row.used_at.map(Timestamp::from_unix),
        })
    }
}

fn grants(table: &Table, text: &str) -> StoreResult<Grants> {
    Grants::from_stored(text).map_err(|_unknown| table.corrupt("grants"))
}
