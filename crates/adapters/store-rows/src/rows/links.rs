//! Rows of magic links.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::link::Link;
use vestry_domain::pkce::CodeChallenge;
use vestry_domain::token::TokenHash;
use vestry_ports::store::{StoreError, StoreResult};

use super::{Table, to_json};
use crate::schema::magic_links;

/// A row. As a changeset it overwrites every column, including with NULL.
#[derive(Queryable, Selectable, Insertable, diesel::AsChangeset)]
#[diesel(table_name = magic_links, treat_none_as_default_value = false, treat_none_as_null = true, primary_key(app_id, environment, email_id, purpose))]
pub struct LinkRow {
    app_id: String,
    environment: String,
    email_id: String,
    purpose: String,
    user_id: String,
    token_hash: Vec<u8>,
    redirect: Option<String>,
    fingerprint: Option<String>,
    origin_hash: Option<Vec<u8>>,
    created_at: i64,
    expires_at: i64,
    used_at: Option<i64>,
    session_id: Option<String>,
    handed_at: Option<i64>,
    landing: Option<String>,
    user_created: bool,
    code_challenge: Option<Vec<u8>>,
    /// Always 0: a row is built only for a new link.
    tries: i64,
    asked_as: Option<String>,
    sent_as_asked: bool,
}

impl TryFrom<&Link> for LinkRow {
    type Error = StoreError;

    fn try_from(link: &Link) -> StoreResult<Self> {
        Ok(Self {
            app_id: link.world.app_id.to_string(),
            environment: link.world.environment.to_string(),
            email_id: link.email_id.to_string(),
            purpose: link.purpose.as_str().to_owned(),
            user_id: link.user_id.to_string(),
            token_hash: link.token.0.to_vec(),
            redirect: link.redirect.map(|kind| kind.as_str().to_owned()),
            fingerprint: link.fingerprint.as_ref().map(to_json).transpose()?,
            origin_hash: link.origin.map(|origin| origin.0.to_vec()),
            created_at: link.created_at.unix(),
            expires_at: link.expires_at.unix(),
            used_at: link.used_at.map(Timestamp::unix),
            session_id: link.session_id.map(|id| id.to_string()),
            handed_at: link.handed_at.map(Timestamp::unix),
            landing: link.landing.clone(),
            user_created: link.user_created,
            code_challenge: link.challenge.map(|challenge| challenge.0.to_vec()),
            tries: 0,
            asked_as: link
                .asked_as
                .as_ref()
                .map(|email| email.address().to_owned()),
            sent_as_asked: link.sent_as_asked,
        })
    }
}

impl TryFrom<LinkRow> for Link {
    type Error = StoreError;

    fn try_from(row: LinkRow) -> StoreResult<Self> {
        let table = Table("magic_links");
        let hash = |column: &'static str, bytes: Vec<u8>| {
            let bytes = <[u8; 32]>::try_from(bytes).map_err(|_other_length| table.corrupt(column));
            bytes.map(TokenHash)
        };
        let redirect = row.redirect.map(|kind| table.parse("redirect", &kind));
        let fingerprint = row
            .fingerprint
            .map(|document| table.json("fingerprint", &document));
        let origin = row.origin_hash.map(|bytes| hash("origin_hash", bytes));
        let challenge = row
            .code_challenge
            .map(|bytes| hash("code_challenge", bytes));
        let asked_as = row.asked_as.map(|text| table.parse("asked_as", &text));
        let session_id = row.session_id.map(|id| table.parse("session_id", &id));
        Ok(Self {
            world: table.world(&row.app_id, &row.environment)?,
            email_id: table.parse("email_id", &row.email_id)?,
            purpose: table.parse("purpose", &row.purpose)?,
            user_id: table.parse("user_id", &row.user_id)?,
            token: hash("token_hash", row.token_hash)?,
            redirect: redirect.transpose()?,
            landing: row.landing,
            fingerprint: fingerprint.transpose()?,
            origin: origin.transpose()?,
            user_created: row.user_created,
            asked_as: asked_as.transpose()?,
            sent_as_asked: row.sent_as_asked,
            challenge: challenge.transpose()?.map(|hash| CodeChallenge(hash.0)),
            created_at: Timestamp::from_unix(row.created_at),
            expires_at: Timestamp::from_unix(row.expires_at),
            used_at: row.used_at.map(Timestamp::from_unix),
            session_id: session_id.transpose()?,
            handed_at: row.handed_at.map(Timestamp::from_unix),
        })
    }
}
