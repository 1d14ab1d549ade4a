//! Rows of the audit log.

use diesel::prelude::{AsChangeset, Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::audit::{AuditEntry, AuditEvent, AuditHead, ResultHash};
use vestry_domain::envelope::Mac;
use vestry_ports::store::{StoreError, StoreResult};

use super::Table;
use crate::schema::{audit_chains, audit_entries};

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
    api_key_id: String,
    result: Option<Vec<u8>>,
    happened_at: i64,
    previous: Vec<u8>,
    hash: Vec<u8>,
    mac_key_version: i64,
    mac: Vec<u8>,
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
            api_key_id: event.api_key_id.to_string(),
            result: event.result.map(|hash| hash.0.to_vec()),
            happened_at: event.at.unix(),
            previous: entry.previous.to_vec(),
            hash: entry.hash.to_vec(),
            mac_key_version: entry.mac.key_version.into(),
            mac: entry.mac.tag.clone(),
        }
    }
}

/// Rows by column, for the one statement that adds many of them.
#[derive(Default)]
pub struct AuditEntryColumns {
    /// App, environment, chain, id, wallet, action, detail and API key.
    pub texts: [Vec<String>; 8],
    /// Sequence, time, and version of the key of the keyed hash.
    pub numbers: [Vec<i64>; 3],
    /// Hash of the entry before, hash, and keyed hash.
    pub bytes: [Vec<Vec<u8>>; 3],
    pub results: Vec<Option<Vec<u8>>>,
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
                row.api_key_id,
            ];
            append(&mut columns.texts, texts);
            let numbers = [row.sequence, row.happened_at, row.mac_key_version];
            append(&mut columns.numbers, numbers);
            append(&mut columns.bytes, [row.previous, row.hash, row.mac]);
            columns.results.push(row.result);
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
        let result = row.result.map(|hash| digest(&table, "result", &hash));
        let event = AuditEvent {
            world: table.world(&row.app_id, &row.environment)?,
            wallet_id: table.parse("wallet_id", &row.wallet_id)?,
            action: table.parse("action", &row.action)?,
            detail: row.detail,
            api_key_id: table.parse("api_key_id", &row.api_key_id)?,
            result: result.transpose()?.map(ResultHash),
            at: Timestamp::from_unix(row.happened_at),
        };
        Ok(Self {
            id: table.parse("id", &row.id)?,
            chain: table.parse("chain", &row.chain)?,
            sequence: row.sequence,
            event,
            previous: digest(&table, "previous", &row.previous)?,
            hash: digest(&table, "hash", &row.hash)?,
            mac: Mac {
                key_version: table.small("mac_key_version", row.mac_key_version)?,
                tag: row.mac,
            },
        })
    }
}

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
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

impl From<&AuditHead> for AuditHeadRow {
    fn from(head: &AuditHead) -> Self {
        Self {
            app_id: head.world.app_id.to_string(),
            environment: head.world.environment.to_string(),
            chain: head.chain.to_string(),
            sequence: head.sequence,
            hash: head.hash.to_vec(),
            mac_key_version: head.mac.key_version.into(),
            mac: head.mac.tag.clone(),
        }
    }
}

/// Heads by column.
#[derive(Default)]
pub struct AuditHeadColumns {
    /// App, environment and chain.
    pub texts: [Vec<String>; 3],
    /// Sequence, and version of the key of the keyed hash.
    pub numbers: [Vec<i64>; 2],
    /// Hash and keyed hash.
    pub bytes: [Vec<Vec<u8>>; 2],
}

impl FromIterator<AuditHeadRow> for AuditHeadColumns {
    fn from_iter<I: IntoIterator<Item = AuditHeadRow>>(rows: I) -> Self {
        let mut columns = Self::default();
        for row in rows {
            append(&mut columns.texts, [row.app_id, row.environment, row.chain]);
            append(&mut columns.numbers, [row.sequence, row.mac_key_version]);
            append(&mut columns.bytes, [row.hash, row.mac]);
        }
        columns
    }
}

impl TryFrom<AuditHeadRow> for AuditHead {
    type Error = StoreError;

    fn try_from(row: AuditHeadRow) -> StoreResult<Self> {
        let table = Table("audit_chains");
        Ok(Self {
            world: table.world(&row.app_id, &row.environment)?,
            chain: table.parse("chain", &row.chain)?,
            sequence: row.sequence,
            hash: digest(&table, "hash", &row.hash)?,
            mac: Mac {
                key_version: table.small("mac_key_version", row.mac_key_version)?,
                tag: row.mac,
            },
        })
    }
}

fn digest(table: &Table, column: &'static str, bytes: &[u8]) -> StoreResult<[u8; 32]> {
    bytes.try_into().map_err(|_length| table.corrupt(column))
}
