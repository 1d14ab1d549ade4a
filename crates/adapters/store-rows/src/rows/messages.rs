//! Rows of the outbox and of captured messages.

use diesel::prelude::{Insertable, Queryable, QueryableByName, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::envelope::Sealed;
use vestry_domain::message::{
    CapturedMessage, DeadJob, OutboxJob, Priority, compared_recipient, lane_of,
};
use vestry_ports::store::{StoreError, StoreResult};

use super::{Table, to_json};
use crate::schema::{captured_messages, outbox};

/// A pending job. Loaded by column name, because the claim statement is hand-written for each backend.
#[derive(Insertable, Queryable, QueryableByName, Selectable)]
#[diesel(table_name = outbox, treat_none_as_default_value = false)]
pub struct OutboxRow {
    app_id: String,
    environment: String,
    id: String,
    channel: String,
    priority: i64,
    lane: i64,
    payload_key_version: i64,
    payload: Vec<u8>,
    not_before: i64,
    deliver_before: i64,
    attempts: i64,
    failures: i64,
    due_at: i64,
    cause: Option<String>,
    created_at: i64,
}

impl From<&OutboxJob> for OutboxRow {
    fn from(job: &OutboxJob) -> Self {
        Self {
            app_id: job.world.app_id.to_string(),
            environment: job.world.environment.to_string(),
            id: job.id.to_string(),
            channel: job.channel.as_str().to_owned(),
            priority: job.priority.number().into(),
            lane: lane_of(job.world.app_id).into(),
            payload_key_version: job.payload.key_version.into(),
            payload: job.payload.bytes.clone(),
            not_before: job.not_before.unix(),
            deliver_before: job.deliver_before.unix(),
            attempts: job.attempts.into(),
            failures: job.failures.into(),
            due_at: job.not_before.unix(),
            cause: job.cause.clone(),
            created_at: job.created_at.unix(),
        }
    }
}

impl TryFrom<OutboxRow> for OutboxJob {
    type Error = StoreError;

    fn try_from(row: OutboxRow) -> StoreResult<Self> {
        let table = Table("outbox");
        Ok(Self {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            channel: table.parse("channel", &row.channel)?,
            priority: stored_priority(&table, row.priority)?,
            payload: Sealed {
                key_version: table.small("payload_key_version", row.payload_key_version)?,
                bytes: row.payload,
            },
            not_before: Timestamp::from_unix(row.not_before),
            deliver_before: Timestamp::from_unix(row.deliver_before),
            attempts: table.small("attempts", row.attempts)?,
            failures: table.small("failures", row.failures)?,
            cause: row.cause,
            created_at: Timestamp::from_unix(row.created_at),
        })
    }
}

/// Reads a stored priority.
pub fn stored_priority(table: &Table, number: i64) -> StoreResult<Priority> {
    let number = u8::try_from(number).ok();
    number
        .and_then(Priority::from_number)
        .ok_or_else(|| table.corrupt("priority"))
}

/// A job that could not be handled, without its content.
#[derive(Queryable, Selectable)]
#[diesel(table_name = outbox)]
pub struct DeadJobRow {
    app_id: String,
    environment: String,
    id: String,
    channel: String,
    priority: i64,
    attempts: i64,
    fault: Option<String>,
    cause: Option<String>,
    created_at: i64,
    deliver_before: i64,
    ended_at: Option<i64>,
}

impl TryFrom<DeadJobRow> for DeadJob {
    type Error = StoreError;

    fn try_from(row: DeadJobRow) -> StoreResult<Self> {
        let table = Table("outbox");
        let fault = row.fault.ok_or_else(|| table.corrupt("fault"))?;
        let died_at = row.ended_at.ok_or_else(|| table.corrupt("ended_at"))?;
        Ok(Self {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            channel: table.parse("channel", &row.channel)?,
            priority: stored_priority(&table, row.priority)?,
            attempts: table.small("attempts", row.attempts)?,
            fault: table.parse("fault", &fault)?,
            cause: row.cause,
            created_at: Timestamp::from_unix(row.created_at),
            deliver_before: Timestamp::from_unix(row.deliver_before),
            died_at: Timestamp::from_unix(died_at),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = captured_messages, treat_none_as_default_value = false)]
pub struct CapturedMessageRow {
    app_id: String,
    environment: String,
    id: String,
    position: i64,
    recipient: String,
    kind: String,
    message: String,
    created_at: i64,
}

impl CapturedMessageRow {
    pub fn new(captured: &CapturedMessage, position: i64) -> StoreResult<Self> {
        Ok(Self {
            app_id: captured.world.app_id.to_string(),
            environment: captured.world.environment.to_string(),
            id: captured.id.to_string(),
            position,
            recipient: compared_recipient(&captured.message.to),
            kind: captured.message.kind.as_str().to_owned(),
            message: to_json(&captured.message)?,
            created_at: captured.created_at.unix(),
        })
    }
}

impl TryFrom<CapturedMessageRow> for CapturedMessage {
    type Error = StoreError;

    fn try_from(row: CapturedMessageRow) -> StoreResult<Self> {
        let table = Table("captured_messages");
        Ok(Self {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            message: table.json("message", &row.message)?,
            created_at: Timestamp::from_unix(row.created_at),
        })
    }
}
