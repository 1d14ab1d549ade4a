//! Statements over lists: their text does not depend on how many there are, so that each is parsed and planned once for a
//! connection. diesel's own lists make another text for every length.
//!
//! The lists stand in selects of their own, where the planner does not see how long they are: for what it sees to be short it
//! makes a new plan each time.

use std::collections::HashSet;

use diesel::QueryResult;
use diesel::dsl::{AsSelect, SqlTypeOf};
use diesel::pg::Pg;
use diesel::prelude::SelectableHelper;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Binary, Nullable, Text};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::ids::WalletId;
use vestry_ports::store::SeenWallet;

use super::dialect::Conn;
use crate::rows::audit::{AuditEntryColumns, AuditEntryRow, AuditHeadColumns, AuditHeadRow};
use crate::rows::wallets::{WalletKeyRow, WalletRow};

/// Those of the wallets that are there, with their keys and, if the engine tells them, the states of both: the numbers of the
/// transactions that wrote the rows, and where these are. Only another writing changes that, or what moves all rows of a table.
pub(crate) async fn wallets_with_keys(
    conn: &mut Conn,
    wanted: Vec<(World, WalletId)>,
    with_states: bool,
) -> QueryResult<Vec<(WalletRow, Option<WalletKeyRow>, Option<String>)>> {
    let places = wanted.into_iter().collect();
    match with_states {
        true => WalletsWithKeys::<true>::at(places).load(conn).await,
        false => WalletsWithKeys::<false>::at(places).load(conn).await,
    }
}

/// Adds entries of the audit log, and writes the heads over the earlier ones of their chains: all or nothing, since it is one
/// statement.
pub(crate) async fn append_to_audit_log(
    conn: &mut Conn,
    entries: Vec<AuditEntryRow>,
    heads: Vec<AuditHeadRow>,
) -> QueryResult<()> {
    let query = AppendToAuditLog {
        entries: entries.into_iter().collect(),
        heads: heads.into_iter().collect(),
    };
    query.execute(conn).await.map(drop)
}

/// The same outside of a transaction, where a statement commits by itself, and only if the wallets are in the states in which
/// they were seen; otherwise those that are not. What is committed before the statement begins it sees.
pub(crate) async fn commit_to_audit_log(
    conn: &mut Conn,
    entries: Vec<AuditEntryRow>,
    heads: Vec<AuditHeadRow>,
    seen: Vec<SeenWallet>,
) -> QueryResult<Vec<SeenWallet>> {
    if seen.is_empty() {
        append_to_audit_log(conn, entries, heads).await?;
        return Ok(seen);
    }
    let query = AppendIfUnchanged {
        places: seen.iter().map(|seen| (seen.world, seen.id)).collect(),
        states: States::of(&seen),
        entries: entries.into_iter().collect(),
        heads: heads.into_iter().collect(),
    };
    let changed: HashSet<i64> = query.load(conn).await?.into_iter().collect();
    let told: Vec<_> = (1..)
        .zip(seen)
        .filter(|(at, _)| changed.contains(at))
        .map(|(_, seen)| seen)
        .collect();
    if told.len() != changed.len() {
        // Nothing was written, and nobody may be told that it was.
        let error = "a wallet that nobody asked for has changed";
        return Err(diesel::result::Error::DeserializationError(error.into()));
    }
    Ok(told)
}

/// Where wallets are, by column.
#[derive(Default)]
struct Places {
    app_ids: Vec<String>,
    environments: Vec<&'static str>,
    ids: Vec<String>,
}

impl FromIterator<(World, WalletId)> for Places {
    fn from_iter<I: IntoIterator<Item = (World, WalletId)>>(wallets: I) -> Self {
        let mut places = Self::default();
        for (world, id) in wallets {
            places.app_ids.push(world.app_id.to_string());
            places.environments.push(world.environment.as_str());
            places.ids.push(id.to_string());
        }
        places
    }
}

impl Places {
    fn push<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("(SELECT ");
        out.push_bind_param::<Array<Text>, _>(&self.app_ids)?;
        out.push_sql("), (SELECT ");
        out.push_bind_param::<Array<Text>, _>(&self.environments)?;
        out.push_sql("), (SELECT ");
        out.push_bind_param::<Array<Text>, _>(&self.ids)?;
        out.push_sql(")");
        Ok(())
    }
}

/// Joins the rows of the wallets of a list `wanted`, `columns` of each; `found_by` is a condition more for each of the two tables.
/// `LIMIT` keeps the planner from any plan but one look-up for every wallet: without statistics it would rather read all wallets
/// of a world.
fn push_rows(columns: &str, found_by: [&str; 2], out: &mut AstPass<'_, '_, Pg>) {
    let tables = [("wallets", "id"), ("wallet_keys", "wallet_id")];
    for ((table, id), found_by) in tables.into_iter().zip(found_by) {
        for part in [
            " LEFT JOIN LATERAL (SELECT ",
            columns,
            " FROM ",
            table,
            " WHERE ",
            found_by,
            "app_id = wanted.app_id AND environment = wanted.environment AND ",
            id,
            " = wanted.id LIMIT 1) AS ",
            table,
            " ON TRUE",
        ] {
            out.push_sql(part);
        }
    }
}

/// The numbers of the transactions that wrote a wallet and its key; NULL without a key.
const WRITTEN_BY: &str = "(wallets.xmin::text || ' ' || wallet_keys.xmin::text)";

/// The state of a wallet and its key: where both rows are, and who wrote them.
const STATE: &str = "(wallets.ctid::text || ' ' || wallet_keys.ctid::text || ' ' || \
     wallets.xmin::text || ' ' || wallet_keys.xmin::text)";

/// States by column.
#[derive(Default)]
struct States {
    wallets: Vec<String>,
    keys: Vec<String>,
    written_by: Vec<String>,
}

/// A place at which there never is a row.
const NOWHERE: &str = "(0,0)";

impl States {
    /// What is no state of ours is one in which nothing is.
    fn of(seen: &[SeenWallet]) -> Self {
        let mut states = Self::default();
        for seen in seen {
            let parts = Self::parts(&seen.state.0);
            let (wallet, key, written_by) = parts.unwrap_or((NOWHERE, NOWHERE, ""));
            states.wallets.push(wallet.to_owned());
            states.keys.push(key.to_owned());
            states.written_by.push(written_by.to_owned());
        }
        states
    }

    fn parts(state: &str) -> Option<(&str, &str, &str)> {
        let (wallet, rest) = state.split_once(' ')?;
        let (key, written_by) = rest.split_once(' ')?;
        let are_places = wallet.starts_with('(') && key.starts_with('(');
        are_places.then_some((wallet, key, written_by))
    }
}

struct WalletsWithKeys<const STATES: bool> {
    places: Places,
    wallet: AsSelect<WalletRow, Pg>,
    key: AsSelect<Option<WalletKeyRow>, Pg>,
}

impl<const STATES: bool> WalletsWithKeys<STATES> {
    fn at(places: Places) -> Self {
        Self {
            places,
            wallet: WalletRow::as_select(),
            key: Option::<WalletKeyRow>::as_select(),
        }
    }
}

impl<const STATES: bool> QueryId for WalletsWithKeys<STATES> {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<const STATES: bool> Query for WalletsWithKeys<STATES> {
    type SqlType = (
        SqlTypeOf<AsSelect<WalletRow, Pg>>,
        SqlTypeOf<AsSelect<Option<WalletKeyRow>, Pg>>,
        Nullable<Text>,
    );
}

impl<const STATES: bool> QueryFragment<Pg> for WalletsWithKeys<STATES> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let (columns, state) = if STATES {
            ("*, ctid, xmin", STATE)
        } else {
            ("*", "NULL::text")
        };
        out.push_sql("SELECT ");
        self.wallet.walk_ast(out.reborrow())?;
        out.push_sql(", ");
        self.key.walk_ast(out.reborrow())?;
        out.push_sql(", ");
        out.push_sql(state);
        out.push_sql(" FROM unnest(");
        self.places.push(&mut out)?;
        out.push_sql(") AS wanted (app_id, environment, id)");
        push_rows(columns, ["", ""], &mut out);
        out.push_sql(" WHERE wallets.id IS NOT NULL");
        Ok(())
    }
}

struct AppendToAuditLog {
    entries: AuditEntryColumns,
    heads: AuditHeadColumns,
}

impl QueryId for AppendToAuditLog {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl QueryFragment<Pg> for AppendToAuditLog {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("WITH appended AS (");
        push_entries(&self.entries, "", &mut out)?;
        out.push_sql(") ");
        push_heads(&self.heads, "", &mut out)
    }
}

/// The same, if wallets are in the states in which they were seen. What it answers is the places, from 1, of those that are not.
struct AppendIfUnchanged {
    places: Places,
    states: States,
    entries: AuditEntryColumns,
    heads: AuditHeadColumns,
}

impl QueryId for AppendIfUnchanged {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl Query for AppendIfUnchanged {
    type SqlType = BigInt;
}

impl QueryFragment<Pg> for AppendIfUnchanged {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        const UNCHANGED: &str = " WHERE NOT EXISTS (SELECT FROM changed)";
        out.push_sql("WITH changed AS (SELECT wanted.at FROM unnest(");
        self.places.push(&mut out)?;
        let States {
            wallets,
            keys,
            written_by,
        } = &self.states;
        for states in [wallets, keys, written_by] {
            out.push_sql(", (SELECT ");
            out.push_bind_param::<Array<Text>, _>(states)?;
            out.push_sql(")");
        }
        out.push_sql(
            ") WITH ORDINALITY AS wanted (app_id, environment, id, wallet, key, written_by, at)",
        );
        // A row is found where it was, without an index. Whatever changes it puts it elsewhere.
        let found_by = [
            "ctid = wanted.wallet::tid AND ",
            "ctid = wanted.key::tid AND ",
        ];
        push_rows("xmin", found_by, &mut out);
        out.push_sql(" WHERE ");
        out.push_sql(WRITTEN_BY);
        out.push_sql(" IS DISTINCT FROM wanted.written_by), appended AS (");
        push_entries(&self.entries, UNCHANGED, &mut out)?;
        out.push_sql("), headed AS (");
        push_heads(&self.heads, UNCHANGED, &mut out)?;
        out.push_sql(") SELECT at FROM changed");
        Ok(())
    }
}

fn push_entries<'b>(
    entries: &'b AuditEntryColumns,
    condition: &str,
    out: &mut AstPass<'_, 'b, Pg>,
) -> QueryResult<()> {
    out.push_sql(
        "INSERT INTO audit_entries (app_id, environment, chain, id, wallet_id, action, detail, api_key_id, \
             sequence, happened_at, mac_key_version, previous, hash, mac, result) \
         SELECT unnest((SELECT ",
    );
    push_columns(&entries.texts, &entries.numbers, &entries.bytes, out)?;
    out.push_sql(BETWEEN);
    out.push_bind_param::<Array<Nullable<Binary>>, _>(&entries.results)?;
    out.push_sql("))");
    out.push_sql(condition);
    Ok(())
}

fn push_heads<'b>(
    heads: &'b AuditHeadColumns,
    condition: &str,
    out: &mut AstPass<'_, 'b, Pg>,
) -> QueryResult<()> {
    out.push_sql(
        "INSERT INTO audit_chains (app_id, environment, chain, sequence, mac_key_version, hash, mac) \
         SELECT unnest((SELECT ",
    );
    push_columns(&heads.texts, &heads.numbers, &heads.bytes, out)?;
    out.push_sql("))");
    out.push_sql(condition);
    out.push_sql(
        " ON CONFLICT (app_id, environment, chain) DO UPDATE SET sequence = excluded.sequence, \
             mac_key_version = excluded.mac_key_version, hash = excluded.hash, mac = excluded.mac",
    );
    Ok(())
}

/// What stands between two lists. One call of `unnest` for each is cheaper than one for all: their rows are put together as they
/// come, and not list by list.
const BETWEEN: &str = ")), unnest((SELECT ";

/// Lists of three types.
fn push_columns<'b>(
    texts: &'b [Vec<String>],
    numbers: &'b [Vec<i64>],
    bytes: &'b [Vec<Vec<u8>>],
    out: &mut AstPass<'_, 'b, Pg>,
) -> QueryResult<()> {
    let mut between = "";
    for column in texts {
        out.push_sql(between);
        out.push_bind_param::<Array<Text>, _>(column)?;
        between = BETWEEN;
    }
    for column in numbers {
        out.push_sql(between);
        out.push_bind_param::<Array<BigInt>, _>(column)?;
    }
    for column in bytes {
        out.push_sql(between);
        out.push_bind_param::<Array<Binary>, _>(column)?;
    }
    Ok(())
}
