//! Rows of the control chains of the audit log.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::audit::control::{ControlEntry, ControlEvent, ControlHead, Subject};
use vestry_domain::envelope::Mac;
use vestry_domain::event::Actor;
use vestry_ports::store::{StoreError, StoreResult};

use super::Table;
use super::audit::place_in_chain;
use crate::schema::{control_chains, control_entries};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = control_entries, treat_none_as_default_value = false)]
pub struct ControlEntryRow {
    app_id: String,
    environment: String,
    chain: String,
    sequence: i64,
    id: String,
    actor_kind: String,
    actor_id: Option<String>,
    action: String,
    subject_kind: String,
    subject_id: String,
    detail: String,
    outcome: String,
    request_id: Option<String>,
    happened_at: i64,
    previous: Vec<u8>,
    hash: Vec<u8>,
    mac_key_version: i64,
    mac: Vec<u8>,
}

impl From<&ControlEntry> for ControlEntryRow {
    fn from(entry: &ControlEntry) -> Self {
        let event = &entry.event;
        Self {
            app_id: event.world.app_id.to_string(),
            environment: event.world.environment.to_string(),
            chain: entry.chain.to_string(),
            sequence: entry.sequence,
            id: entry.id.to_string(),
            actor_kind: event.actor.kind().to_owned(),
            actor_id: event.actor.id(),
            action: event.action.to_string(),
            subject_kind: event.subject.kind.to_string(),
            subject_id: event.subject.id.clone(),
            detail: event.detail.clone(),
            outcome: event.outcome.to_string(),
            request_id: event.request_id.clone(),
            happened_at: event.at.unix(),
            previous: entry.previous.to_vec(),
            hash: entry.hash.to_vec(),
            mac_key_version: entry.mac.key_version.into(),
            mac: entry.mac.tag.clone(),
        }
    }
}

impl TryFrom<ControlEntryRow> for ControlEntry {
    type Error = StoreError;

    fn try_from(row: ControlEntryRow) -> StoreResult<Self> {
        let table = Table("control_entries");
        let actor = Actor::parse(&row.actor_kind, row.actor_id.as_deref());
        let event = ControlEvent {
            world: table.world(&row.app_id, &row.environment)?,
            actor: actor.map_err(|_unknown| table.corrupt("actor_kind"))?,
            action: table.parse("action", &row.action)?,
            subject: Subject {
                kind: table.parse("subject_kind", &row.subject_kind)?,
                id: row.subject_id,
            },
            detail: row.detail,
            outcome: table.parse("outcome", &row.outcome)?,
            request_id: row.request_id,
            at: Timestamp::from_unix(row.happened_at),
        };
        Ok(Self {
            id: table.parse("id", &row.id)?,
            chain: table.parse("chain", &row.chain)?,
            sequence: row.sequence,
            event,
            previous: table.digest("previous", &row.previous)?,
            hash: table.digest("hash", &row.hash)?,
            mac: Mac {
                key_version: table.small("mac_key_version", row.mac_key_version)?,
                tag: row.mac,
            },
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = control_chains, treat_none_as_default_value = false)]
pub struct ControlHeadRow {
    app_id: String,
    environment: String,
    number: i64,
    chain: String,
    sequence: i64,
    hash: Vec<u8>,
    mac_key_version: i64,
    mac: Vec<u8>,
}

place_in_chain!(ControlHeadRow, ControlHead, "control_chains", number);
