//! Rows of the audit log.

use diesel::prelude::{AsChangeset, Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::audit::{
    AuditEntry, AuditEvent, AuditHead, AuditMarker, AuditStep, Format, ResultHash,
};
use vestry_domain::envelope::Mac;
use vestry_domain::signing::PayloadHash;
use vestry_ports::store::{StoreError, StoreResult};

use super::Table;
use crate::schema::{audit_chains, audit_entries, audit_markers};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = audit_entries, treat_none_as_default_value = false)]
pub struct AuditEntryRow {
    app_id: String,
    environment: String,
    chain: String,
    sequence: i64,
    id: String,
    wallet_id: String,
    action: String,
    detail: String,
    actor: String,
    result: Option<Vec<u8>>,
    happened_at: i64,
    previous: Vec<u8>,
    hash: Vec<u8>,
    mac_key_version: i64,
    mac: Vec<u8>,
    format: i64,
    payload: Option<Vec<u8>>,
    request_id: Option<String>,
}

impl From<&AuditEntry> for AuditEntryRow {
    fn from(entry: &AuditEntry) -> Self {
        let event = &entry.event;
        Self {
            app_id: event.world.app_id.to_string(),
            environment: event.world.environment.to_string(),
            chain: entry.chain.to_string(),
            sequence: entry.sequence,
            id: entry.id.to_string(),
            wallet_id: event.wallet_id.to_string(),
            action: event.action.to_string(),
            detail: event.detail.clone(),
            actor: event.actor.to_string(),
            result: event.result.map(|hash| hash.0.to_vec()),
            happened_at: event.at.unix(),
            previous: entry.previous.to_vec(),
            hash: entry.hash.to_vec(),
            mac_key_version: entry.mac.key_version.into(),
            mac: entry.mac.tag.clone(),
            format: entry.format.number(),
            payload: event.payload.map(|hash| hash.0.to_vec()),
            request_id: event.request_id.clone(),
        }
    }
}

/// Audit entries by column, for the single statement that inserts many of them.
#[derive(Default)]
pub struct AuditEntryColumns {
    /// App, environment, chain, id, wallet, action, detail and actor.
    pub texts: [Vec<String>; 8],
    /// Sequence, time, version of the key of the keyed hash, and format.
    pub numbers: [Vec<i64>; 4],
    /// Hash of the previous entry, own hash, and keyed hash.
    pub bytes: [Vec<Vec<u8>>; 3],
    /// Hashes of result and payload.
    pub hashes: [Vec<Option<Vec<u8>>>; 2],
    pub requests: Vec<Option<String>>,
}

impl FromIterator<AuditEntryRow> for AuditEntryColumns {
    fn from_iter<I: IntoIterator<Item = AuditEntryRow>>(rows: I) -> Self {
        let mut columns = Self::default();
        for row in rows {
            let texts = [
                row.app_id,
                row.environment,
                row.chain,
                row.id,
                row.wallet_id,
                row.action,
                row.detail,
                row.actor,
            ];
            append(&mut columns.texts, texts);
            let numbers = [
                row.sequence,
                row.happened_at,
                row.mac_key_version,
                row.format,
            ];
            append(&mut columns.numbers, numbers);
            append(&mut columns.bytes, [row.previous, row.hash, row.mac]);
            append(&mut columns.hashes, [row.result, row.payload]);
            columns.requests.push(row.request_id);
        }
        columns
    }
}

fn append<T, const N: usize>(columns: &mut [Vec<T>; N], row: [T; N]) {
    for (column, value) in columns.iter_mut().zip(row) {
        column.push(value);
    }
}

impl TryFrom<AuditEntryRow> for AuditEntry {
    type Error = StoreError;

    fn try_from(row: AuditEntryRow) -> StoreResult<Self> {
        let table = Table("audit_entries");
        let result = row.result.map(|hash| table.digest("result", &hash));
        let payload = row
            .payload
            .map(|hash| table.digest("payload", &hash).map(PayloadHash));
        let format = Format::from_number(row.format);
        let event = AuditEvent {
            world: table.world(&row.app_id, &row.environment)?,
            wallet_id: table.parse("wallet_id", &row.wallet_id)?,
            action: table.parse("action", &row.action)?,
            detail: row.detail,
            actor: table.parse("actor", &row.actor)?,
            result: result.transpose()?.map(ResultHash),
            payload: payload.transpose()?,
            request_id: row.request_id,
            at: Timestamp::from_unix(row.happened_at),
        };
        Ok(Self {
            id: table.parse("id", &row.id)?,
            chain: table.parse("chain", &row.chain)?,
            sequence: row.sequence,
            format: format.ok_or_else(|| table.corrupt("format"))?,
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
#[diesel(table_name = audit_chains, treat_none_as_default_value = false)]
pub struct AuditHeadRow {
    app_id: String,
    environment: String,
    chain: String,
    sequence: i64,
    hash: Vec<u8>,
    mac_key_version: i64,
    mac: Vec<u8>,
}

/// The columns of a head that change when its chain grows. The key is left out, because a cluster does not allow setting it even to its
/// present value.
#[derive(AsChangeset)]
#[diesel(table_name = audit_chains)]
pub struct AuditHeadChange<'a> {
    sequence: i64,
    hash: &'a [u8],
    mac_key_version: i64,
    mac: &'a [u8],
}

/// A new head, with the chain end that it replaces.
pub struct AuditStepRow {
    head: AuditHeadRow,
    after: i64,
    after_hash: Vec<u8>,
}

impl From<&AuditStep> for AuditStepRow {
    fn from(step: &AuditStep) -> Self {
        Self {
            head: (&step.head).into(),
            after: step.after,
            after_hash: step.after_hash.to_vec(),
        }
    }
}

/// App, environment and chain: the key of a chain.
type Chain<'a> = [&'a str; 3];

impl AuditEntryRow {
    /// Returns the App whose log contains the entry.
    pub fn app(&self) -> &str {
        &self.app_id
    }

    /// Returns the chain of the entry.
    pub fn chain(&self) -> Chain<'_> {
        [&self.app_id, &self.environment, &self.chain]
    }
}

impl AuditStepRow {
    /// Returns the chain of the step.
    pub fn chain(&self) -> Chain<'_> {
        let head = &self.head;
        [&head.app_id, &head.environment, &head.chain]
    }

    /// Returns the sequence and hash of the previous chain end.
    pub fn after(&self) -> (i64, &[u8]) {
        (self.after, &self.after_hash)
    }

    /// Returns the new head.
    pub fn change(&self) -> AuditHeadChange<'_> {
        let head = &self.head;
        AuditHeadChange {
            sequence: head.sequence,
            hash: &head.hash,
            mac_key_version: head.mac_key_version,
            mac: &head.mac,
        }
    }

    /// Returns the head if this step begins the chain.
    pub fn begun(&self) -> Option<&AuditHeadRow> {
        (self.after == 0).then_some(&self.head)
    }
}

/// Audit steps by column.
#[derive(Default)]
pub struct AuditStepColumns {
    /// App, environment and chain.
    pub texts: [Vec<String>; 3],
    /// Sequence, version of the key of the keyed hash, and previous sequence.
    pub numbers: [Vec<i64>; 3],
    /// Hash, keyed hash, and previous hash.
    pub bytes: [Vec<Vec<u8>>; 3],
}

impl FromIterator<AuditStepRow> for AuditStepColumns {
    fn from_iter<I: IntoIterator<Item = AuditStepRow>>(rows: I) -> Self {
        let mut columns = Self::default();
        for AuditStepRow {
            head,
            after,
            after_hash,
        } in rows
        {
            let texts = [head.app_id, head.environment, head.chain];
            append(&mut columns.texts, texts);
            let numbers = [head.sequence, head.mac_key_version, after];
            append(&mut columns.numbers, numbers);
            append(&mut columns.bytes, [head.hash, head.mac, after_hash]);
        }
        columns
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = audit_markers)]
pub struct AuditMarkerRow {
    app_id: String,
    environment: String,
    chain: String,
    sequence: i64,
    hash: Vec<u8>,
    mac_key_version: i64,
    mac: Vec<u8>,
}

/// Converts a place in a chain. Heads and markers store it alike; heads of control chains have a number as well.
macro_rules! place_in_chain {
    ($row:ident, $model:ident, $table:literal $(, $number:ident)?) => {
        impl From<&$model> for $row {
            fn from(place: &$model) -> Self {
                Self {
                    app_id: place.world.app_id.to_string(),
                    environment: place.world.environment.to_string(),
                    $($number: place.$number,)?
                    chain: place.chain.to_string(),
                    sequence: place.sequence,
                    hash: place.hash.to_vec(),
                    mac_key_version: place.mac.key_version.into(),
                    mac: place.mac.tag.clone(),
                }
            }
        }

        impl TryFrom<$row> for $model {
            type Error = StoreError;

            fn try_from(row: $row) -> StoreResult<Self> {
                let table = $crate::rows::Table($table);
                Ok(Self {
                    world: table.world(&row.app_id, &row.environment)?,
                    $($number: row.$number,)?
                    chain: table.parse("chain", &row.chain)?,
                    sequence: row.sequence,
                    hash: table.digest("hash", &row.hash)?,
                    mac: Mac {
                        key_version: table.small("mac_key_version", row.mac_key_version)?,
                        tag: row.mac,
                    },
                })
            }
        }
    };
}

pub(super) use place_in_chain;

place_in_chain!(AuditHeadRow, AuditHead, "audit_chains");
place_in_chain!(AuditMarkerRow, AuditMarker, "audit_markers");
