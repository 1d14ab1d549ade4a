//! Planner statistics of the tables.
//!
//! Nearly every index begins with the App and the environment. Without statistics SQLite assumes that few rows share each column of an
//! index. All indexes then look equally good to it, and it scans a whole App to find one user's row. The shape of the service's own tables
//! is known beforehand. It is therefore written by column name to the place where `ANALYZE` would write what it counts. A plan then depends
//! only on the statement and the indexes, on every machine, and the tests check each plan (`store-sql/tests/it/plans.rs`).
//! <https://www.sqlite.org/fileformat2.html#stat1tab>

use diesel::connection::SimpleConnection;
use diesel::sql_types::{Bool, Nullable, Text};
use diesel::{QueryResult, QueryableByName, RunQueryDsl, SqliteConnection};

/// Assumed rows of a table; a partial index has fewer.
const ROWS: u64 = 1_000_000;
const SOME: u64 = 100_000;
/// Assumed number of rows with the same value of a column such as a user, an address or a time.
const FEW: u64 = 10;

/// Low-selectivity columns: their values are one of some Apps, of a few words, or of a few things of an App.
pub const LOW_SELECTIVITY_COLUMNS: &[&str] = &[
    "app_id",
    "chain",
    "channel",
    "endpoint_id",
    "environment",
    "issuer",
    "kind",
    "lane",
    "name",
    "priority",
    "provider",
    "purpose",
    "rank",
    "status",
    "wallet_type",
];

#[derive(QueryableByName)]
struct Column {
    #[diesel(sql_type = Text)]
    of_table: String,
    #[diesel(sql_type = Text)]
    of_index: String,
    #[diesel(sql_type = Bool)]
    is_unique: bool,
    #[diesel(sql_type = Bool)]
    is_partial: bool,
    /// `None` if an operator's own index is on an expression.
    #[diesel(sql_type = Nullable<Text>)]
    name: Option<String>,
}

/// Every column of every index, in order.
const COLUMNS: &str = "\
    SELECT t.name AS of_table, i.name AS of_index, i.`unique` AS is_unique, i.partial AS is_partial, c.name AS name \
    FROM sqlite_schema t JOIN pragma_index_list(t.name) i JOIN pragma_index_info(i.name) c \
    WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY t.name, i.name, c.seqno";

/// A row of `sqlite_stat1`.
#[derive(PartialEq, Eq, PartialOrd, Ord, QueryableByName)]
struct Stat {
    #[diesel(sql_type = Text)]
    tbl: String,
    #[diesel(sql_type = Nullable<Text>)]
    idx: Option<String>,
    #[diesel(sql_type = Text)]
    stat: String,
}

/// Writes the statistics of every index. Connections opened afterwards use them.
pub(crate) fn write_planner_stats(conn: &mut SqliteConnection) -> QueryResult<()> {
    let stats = expected(conn)?;
    // No other statement creates the two tables. Histograms of single values are deleted too, in case someone has run `ANALYZE`.
    conn.batch_execute("ANALYZE apps; DELETE FROM sqlite_stat1; DELETE FROM sqlite_stat4")?;
    for Stat { tbl, idx, stat } in &stats {
        diesel::sql_query("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)")
            .bind::<Text, _>(tbl)
            .bind::<Nullable<Text>, _>(idx)
            .bind::<Text, _>(stat)
            .execute(conn)?;
    }
    Ok(())
}

/// Returns whether the statistics are still those that [`write_planner_stats`] wrote.
pub(crate) fn are_ours(conn: &mut SqliteConnection) -> QueryResult<bool> {
    let mut expected = expected(conn)?;
    let mut found: Vec<Stat> =
        diesel::sql_query("SELECT tbl, idx, stat FROM sqlite_stat1").load(conn)?;
    let histogram: Vec<Histogram> =
        diesel::sql_query("SELECT tbl FROM sqlite_stat4 LIMIT 1").load(conn)?;
    expected.sort_unstable();
    found.sort_unstable();
    Ok(found == expected && histogram.is_empty())
}

/// A row of `sqlite_stat4`.
#[derive(QueryableByName)]
struct Histogram {
    #[diesel(sql_type = Text)]
    #[diesel(column_name = "tbl")]
    _of_table: String,
}

fn expected(conn: &mut SqliteConnection) -> QueryResult<Vec<Stat>> {
    let columns: Vec<Column> = diesel::sql_query(COLUMNS).load(conn)?;
    let indexes = columns.chunk_by(|one, next| one.of_index == next.of_index);
    let stats = indexes.filter_map(|index| {
        let first = index.first()?;
        Some(Stat {
            tbl: first.of_table.clone(),
            idx: Some(first.of_index.clone()),
            stat: stats_of(first, index),
        })
    });
    Ok(stats.collect())
}

/// Returns the statistics of an index: its rows, and how many of them share the first column, the first two, and so on.
fn stats_of(first: &Column, columns: &[Column]) -> String {
    let mut rows = if first.is_partial { SOME } else { ROWS };
    let mut stats = vec![rows];
    for column in columns {
        let name = column.name.as_deref().unwrap_or_default();
        rows = if LOW_SELECTIVITY_COLUMNS.contains(&name) {
            rows.div_ceil(4)
        } else if rows > FEW {
            FEW
        } else {
            1
        };
        stats.push(rows);
    }
    if let (true, Some(last)) = (first.is_unique, stats.last_mut()) {
        *last = 1;
    }
    let stats: Vec<String> = stats.iter().map(u64::to_string).collect();
    stats.join(" ")
}
