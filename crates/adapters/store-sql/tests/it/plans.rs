//! PR-58, for SQLite: checks the query plan of each statement that the tests of this crate run, which covers nearly every statement of the
//! repositories.
//!
//! The plan is queried when a statement first runs, on a separate database without rows. What SQLite does depends on the text, the indexes
//! and the store's planner statistics, and not on the tables' contents. Statements with a semicolon are those of migrations.

use std::collections::HashSet;
use std::mem;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};
use diesel::sql_types::{BigInt, Text};
use diesel::{Connection, QueryableByName, RunQueryDsl, SqliteConnection, define_sql_function};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use vestry_store_sqlite::LOW_SELECTIVITY_COLUMNS;

/// A row of `EXPLAIN QUERY PLAN`.
#[derive(QueryableByName)]
struct Step {
    #[diesel(sql_type = Text)]
    detail: String,
}

struct Watch {
    conn: SqliteConnection,
    seen: HashSet<String>,
    found: Vec<String>,
    _directory: TempDir,
}

define_sql_function! {
    /// Needed to prepare searches; it is never called here.
    fn vestry_in_time(moment: BigInt, row: BigInt) -> Bool;
}

static WATCH: Mutex<Option<Watch>> = Mutex::new(None);

fn watch() -> MutexGuard<'static, Option<Watch>> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Enables the check for the statements of all connections that are opened from now on.
pub(crate) async fn look() {
    static LOOKS: OnceCell<()> = OnceCell::const_new();
    let begin = async || {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plans.db");
        vestry_testkit::sqlite::migrated(&path).await;
        let mut conn = unwatched(&path);
        let in_time = |_: i64, _: i64| true;
        vestry_in_time_utils::register_nondeterministic_impl(&mut conn, in_time).unwrap();
        *watch() = Some(Watch {
            conn,
            seen: HashSet::new(),
            found: Vec::new(),
            _directory: directory,
        });
        set_default_instrumentation(|| Some(Box::new(Look))).unwrap();
    };
    LOOKS.get_or_init(begin).await;
}

/// Returns a connection whose statements are the test's own.
pub(crate) fn unwatched(path: &Path) -> SqliteConnection {
    let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    conn.set_instrumentation(|_: InstrumentationEvent<'_>| {});
    conn
}

/// Fails if a bad statement was found. That hits the first test to end after it, which need not be the one that ran it.
pub(crate) fn check() {
    let found = watch().as_mut().map(|watch| mem::take(&mut watch.found));
    let found = found.unwrap_or_default().join("\n");
    assert!(
        found.is_empty(),
        "SQLite scans a whole App or table for this:\n{found}"
    );
}

struct Look;

impl Instrumentation for Look {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        let InstrumentationEvent::StartQuery { query, .. } = event else {
            return;
        };
        let query = query.to_string();
        let text = query.split(" -- binds").next().unwrap();
        // Connections to Postgres get here too, but not on such a thread.
        let is_of_sqlite = thread::current()
            .name()
            .is_some_and(|name| name.starts_with("sqlite-"));
        if !is_of_sqlite || text.contains(';') {
            return;
        }
        let mut watch = watch();
        let watch = watch.as_mut().unwrap();
        if watch.seen.insert(text.to_owned()) {
            let plan = plan(&mut watch.conn, text);
            watch.found.extend(finding(text, &plan));
        }
    }
}

/// Returns the plan; empty for statements that use no tables, such as `BEGIN`.
fn plan(conn: &mut SqliteConnection, text: &str) -> Vec<String> {
    let of_tables = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"];
    if !of_tables
        .iter()
        .any(|verb| text.trim_start().starts_with(verb))
    {
        return Vec::new();
    }
    let explain = diesel::sql_query(format!("EXPLAIN QUERY PLAN {text}"));
    match explain.load::<Step>(conn) {
        Ok(steps) => steps.into_iter().map(|step| step.detail).collect(),
        Err(refused) => vec![format!("SCAN? {refused}")],
    }
}

/// Tables with few rows per App, or in the whole service: reading all of them is no worse than an index look-up.
const SMALL: &[&str] = &[
    "__diesel_schema_migrations",
    "api_key_uses",
    // The numbers of lanes and priorities, and the few jobs found in each.
    "channels",
    "due",
    "environments",
    "few",
    "lanes",
    "priorities",
    "management_keys",
    "operator_links",
    "operators",
    "api_keys",
    "app_keys",
    "apps",
    "audit_chains",
    "audit_markers",
    "checkpoint_sinks",
    "control_chains",
    "event_heads",
    "provider_connections",
    "redirect_urls",
    "signing_keys",
    "sqlite_master",
    "user_counts",
    "webhook_endpoints",
    "webhook_replays",
    "webhook_secrets",
];

/// Statements that may scan an App or a table, identified by a part of their text, with the reason.
const ALLOWED: &[(&str, &str)] = &[
    ("(1=0)", "matches nothing and reads nothing"),
    ("AND 1 = 0", "matches nothing and reads nothing"),
    (
        "LIKE ? ESCAPE '!'",
        "docs/users.md: a partial match scans all users of the App",
    ),
    (
        "vestry_in_time(?, rowid) AND verified",
        "docs/users.md: the cost grows with the number of matches",
    ),
    (
        "vestry_in_time(?, rowid) AND provider IN (",
        "docs/users.md: the cost grows with the number of matches",
    ),
    (
        "vestry_in_time(?, rowid) AND NOT verified",
        "docs/users.md: the cost grows with the number of matches",
    ),
    (
        "vestry_in_time(?, rowid) AND 1 = 1) AND (`users`.`disabled_at` IS NOT NULL)) AND (`users`.`status` IN (",
        "counts disabled users by their previous status",
    ),
    (
        "SELECT min(`webhook_deliveries`.`position`)",
        "the oldest pending row of an App, with its own index",
    ),
    (
        "SELECT COUNT(*) FROM `webhook_deliveries`",
        "counts the failed deliveries of an endpoint, with its own index",
    ),
    (
        "key_version` < ?",
        "counts or rewrites the remaining rows of a key rotation",
    ),
    (
        "SELECT COUNT(*) FROM `wallets` WHERE ((`wallets`.`app_id` = ?) AND (`wallets`.`environment` = ?))",
        "each page shows the total count",
    ),
    (
        "SELECT COUNT(*) FROM `outbox` WHERE (`outbox`.`ended_at` IS NULL)",
        "counts pending rows",
    ),
    (
        "LIMIT 10000 ) AS few) AS waiting",
        "counts pending rows, up to a limit",
    ),
    (
        "`outbox`.`priority` HAVING (COUNT(*) > ?)",
        "counts pending rows, if there are too many",
    ),
    (
        "GROUP BY `outbox`.`app_id`",
        "finds the Apps with due jobs, for databases with several servers",
    ),
    (
        "SELECT DISTINCT `audit_entries`.`chain`",
        "`audit verify` reads every entry anyway",
    ),
    (
        "SELECT DISTINCT `control_entries`.`chain`",
        "`audit verify` reads every entry anyway",
    ),
    (
        "DELETE FROM `captured_messages` WHERE ((`captured_messages`.`app_id` = ?) AND (`captured_messages`.`environment` = ?))",
        "deletes all rows",
    ),
    (
        "SELECT `quotas`.`used` FROM `quotas`",
        "sums the shards of one counter",
    ),
    (
        "(`webhook_deliveries`.`endpoint_id` = ?)) AND (`webhook_deliveries`.`ended_at` IS NULL))",
        "ends all pending deliveries of an endpoint, or lists them for an operator",
    ),
    (
        "(`sessions`.`environment` = ?) AND (`sessions`.`app_id` = ?)",
        "sweeps one App whose test clock is ahead of the machine's",
    ),
    (
        "(`codes`.`environment` = ?) AND (`codes`.`app_id` = ?)",
        "sweeps one App whose test clock is ahead of the machine's",
    ),
    ("FROM sqlite_schema t JOIN pragma_index_list", "migrating"),
];

/// Whole statements of a recovery, which ends the rows of every App (PR-84).
const OF_RECOVERY: &[&str] = &[
    "DELETE FROM `sessions`",
    "UPDATE `outbox` SET `ended_at` = ?, `ended_as` = ?, `payload` = ?, `lease_owner` = ? \
     WHERE ((`outbox`.`ended_at` IS NULL) OR (`outbox`.`ended_as` = ?))",
    "UPDATE `totps` SET `last_step` = ? WHERE ((`totps`.`environment` = ?) AND (`totps`.`last_step` < ?))",
];

fn finding(text: &str, plan: &[String]) -> Option<String> {
    let walks = plan.iter().any(|step| walks(step));
    let is_allowed = ALLOWED.iter().any(|(part, _)| text.contains(part))
        || OF_RECOVERY.contains(&text.trim_end());
    (walks && !is_page(text, plan) && !is_allowed)
        .then(|| format!("{text}\n  {}", plan.join("\n  ")))
}

/// Whether rows are read in index order, and only up to the end of the page.
fn is_page(text: &str, plan: &[String]) -> bool {
    let is_bounded = text.ends_with(" LIMIT ?") || text.ends_with(" LIMIT ? OFFSET ?");
    is_bounded
        && text.contains(" ORDER BY ")
        && !plan
            .iter()
            .any(|step| step == "USE TEMP B-TREE FOR ORDER BY")
}

/// Whether the step scans the rows of a whole App, or of the whole table.
fn walks(step: &str) -> bool {
    let words: Vec<&str> = step.split(' ').collect();
    let (does, of) = (words[0], words.get(1).copied().unwrap_or_default());
    if SMALL.contains(&of) {
        return false;
    }
    match does {
        // SQLite does not recognise it.
        "SCAN?" => true,
        // Except for the rows of the statement itself.
        "SCAN" => {
            !(of == "CONSTANT"
                || step.ends_with(" CONSTANT ROWS")
                || of.starts_with('(')
                || step.ends_with("VALUES CLAUSE"))
        }
        "SEARCH" => {
            step.contains(" AUTOMATIC ")
                || !compared(step).any(|column| !LOW_SELECTIVITY_COLUMNS.contains(&column))
        }
        _ => false,
    }
}

/// Returns the columns of an index search: `(app_id=? AND id>?)`, `((app_id,id)>(?,?))` or, after a skip, `(ANY(app_id) AND id=?)`.
fn compared(step: &str) -> impl Iterator<Item = &str> {
    let (_, terms) = step.split_once(" (").unwrap_or_default();
    let words = terms.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| !matches!(*word, "" | "AND" | "ANY" | "LEFT" | "JOIN"))
}

#[tokio::test]
async fn pr_58_scans_of_a_whole_app_on_sqlite_are_found() {
    let finding_of = |text: &str| {
        let mut watch = watch();
        let conn = &mut watch.as_mut().unwrap().conn;
        finding(text, &plan(conn, text))
    };
    look().await;
    let of_app = "FROM users WHERE app_id = ? AND environment = ?";
    for (text, is_found) in [
        (format!("SELECT id {of_app} AND id = ?"), false),
        (
            format!("SELECT id {of_app} AND id > ? ORDER BY id LIMIT ?"),
            false,
        ),
        (format!("SELECT id {of_app} ORDER BY id LIMIT ?"), false),
        (
            format!("SELECT id {of_app} ORDER BY last_name LIMIT ?"),
            true,
        ),
        (
            format!("SELECT id {of_app} AND last_name = ? LIMIT ?"),
            true,
        ),
        (format!("SELECT id {of_app} AND status = ?"), true),
        (format!("SELECT count(*) {of_app}"), true),
        ("SELECT id FROM users WHERE last_name = ?".to_owned(), true),
        ("SELECT id FROM apps ORDER BY created_at".to_owned(), false),
    ] {
        assert_eq!(finding_of(&text).is_some(), is_found, "{text}");
    }
}

/// A leading index column that is not listed as low-selectivity counts as selective.
#[tokio::test]
async fn index_statistics_follow_from_the_columns() {
    #[derive(QueryableByName)]
    struct Said {
        #[diesel(sql_type = Text)]
        stat: String,
    }
    look().await;
    let mut watch = watch();
    let conn = &mut watch.as_mut().unwrap().conn;
    let mut said_of = |index: &str| {
        let query = "SELECT stat FROM sqlite_stat1 WHERE idx = ?";
        let query = diesel::sql_query(query).bind::<Text, _>(index);
        query.get_result::<Said>(conn).unwrap().stat
    };
    for (index, said) in [
        (
            "wallets_app_id_environment_user_id_id_idx",
            "1000000 250000 62500 10 1",
        ),
        // Unique by type and address.
        ("sqlite_autoindex_wallets_2", "1000000 250000 62500 15625 1"),
        // A partial index.
        ("outbox_ended_at_idx", "100000 10"),
    ] {
        assert_eq!(said_of(index), said, "{index}");
    }
}
