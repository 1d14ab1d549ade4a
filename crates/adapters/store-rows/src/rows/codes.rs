//! Rows of one-time passcodes.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::code::Code;
use vestry_domain::envelope::Mac;
use vestry_ports::store::{Attempt, StoreError, StoreResult};

use super::{Table, to_json};
use crate::schema::codes;

/// A row. As a changeset it overwrites every column, including with NULL.
#[derive(Queryable, Selectable, Insertable, diesel::AsChangeset)]
#[diesel(table_name = codes, treat_none_as_default_value = false, treat_none_as_null = true, primary_key(app_id, environment, method_id, purpose))]
pub struct CodeRow {
    app_id: String,
    environment: String,
    method_id: String,
    purpose: String,
    user_id: String,
    mac_key_version: i64,
    mac: Vec<u8>,
    fingerprint: Option<String>,
    tries: i64,
    used_at: Option<i64>,
    created_at: i64,
    expires_at: i64,
    for_anybody: bool,
    user_created: bool,
    asked_as: Option<String>,
    sent_as_asked: bool,
}

impl TryFrom<&Code> for CodeRow {
    type Error = StoreError;

    /// Builds the row of a code without attempts.
    fn try_from(code: &Code) -> StoreResult<Self> {
        Ok(Self {
            app_id: code.world.app_id.to_string(),
            environment: code.world.environment.to_string(),
            method_id: code.method_id.to_string(),
            purpose: code.purpose.as_str().to_owned(),
            user_id: code.user_id.to_string(),
            mac_key_version: code.mac.key_version.into(),
            mac: code.mac.tag.clone(),
            fingerprint: code.fingerprint.as_ref().map(to_json).transpose()?,
            tries: 0,
            used_at: None,
            created_at: code.created_at.unix(),
            expires_at: code.expires_at.unix(),
            for_anybody: code.for_anybody,
            user_created: code.user_created,
            asked_as: code
                .asked_as
                .as_ref()
                .map(|email| email.address().to_owned()),
            sent_as_asked: code.sent_as_asked,
        })
    }
}

impl TryFrom<CodeRow> for Attempt {
    type Error = StoreError;

    fn try_from(row: CodeRow) -> StoreResult<Self> {
        let table = Table("codes");
        let fingerprint = row
            .fingerprint
            .map(|document| table.json("fingerprint", &document));
        let asked_as = row.asked_as.map(|text| table.parse("asked_as", &text));
        let code = Code {
            world: table.world(&row.app_id, &row.environment)?,
            method_id: table.parse("method_id", &row.method_id)?,
            purpose: table.parse("purpose", &row.purpose)?,
            user_id: table.parse("user_id", &row.user_id)?,
            for_anybody: row.for_anybody,
            mac: Mac {
                key_version: table.small("mac_key_version", row.mac_key_version)?,
                tag: row.mac,
            },
            fingerprint: fingerprint.transpose()?,
            user_created: row.user_created,
            asked_as: asked_as.transpose()?,
            sent_as_asked: row.sent_as_asked,
            created_at: Timestamp::from_unix(row.created_at),
            expires_at: Timestamp::from_unix(row.expires_at),
        };
        Ok(Self {
            code,
            tries: row.tries,
        })
    }
}
