//! PR-58, for SQLite: how each statement is carried out that the tests of this crate make, and so nearly every one of the repositories.
//!
//! It is asked when a statement is first begun, of a database of its own with no rows: what SQLite does depends on the text, the indexes
//! and what the store tells of them, and on nothing that is in the tables. Statements with a semicolon are those of migrations.

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
use vestry_store_sqlite::SHARED_BY_MANY;

/// What a row of `EXPLAIN QUERY PLAN` says.
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
    /// As it stands in searches; here it is never called.
    fn vestry_in_time(moment: BigInt, row: BigInt) -> Bool;
}

static WATCH: Mutex<Option<Watch>> = Mutex::new(None);

fn watch() -> MutexGuard<'static, Option<Watch>> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the statements looked at of all connections that are opened from now on.
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

/// A connection whose statements are a test's own.
pub(crate) fn unwatched(path: &Path) -> SqliteConnection {
    let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    conn.set_instrumentation(|_: InstrumentationEvent<'_>| {});
    conn
}

/// Fails where a statement was found: the first test to end after that, which need not be the one that made it.
pub(crate) fn check() {
    let found = watch().as_mut().map(|watch| mem::take(&mut watch.found));
    let found = found.unwrap_or_default().join("\n");
    assert!(
        found.is_empty(),
        "SQLite goes through a whole App or table for this:\n{found}"
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
        // Connections to Postgres are told of here too, but not on such a thread.
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
            watch.found.extend(flaw(text, &plan));
        }
    }
}

/// What is no statement of the tables, such as `BEGIN`, has none.
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

/// Tables of which an App has few rows, or the service: reading all of them is no worse than looking for one.
const SMALL: &[&str] = &[
    "__diesel_schema_migrations",
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

/// Statements that may go through an App, or all of a table, by a part of their text, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("(1=0)", "nothing is asked for, and nothing read"),
    ("AND 1 = 0", "nothing is asked for, and nothing read"),
    (
        "LIKE ? ESCAPE '!'",
        "docs/users.md: a part of a name, an address or a number is looked for in all users of the App",
    ),
    (
        "vestry_in_time(?, rowid) AND verified",
        "docs/users.md: it takes longer the more users fit",
    ),
    (
        "vestry_in_time(?, rowid) AND provider IN (",
        "docs/users.md: it takes longer the more users fit",
    ),
    (
        "vestry_in_time(?, rowid) AND NOT verified",
        "docs/users.md: it takes longer the more users fit",
    ),
    (
        "vestry_in_time(?, rowid) AND 1 = 1) AND (`users`.`disabled_at` IS NOT NULL)) AND (`users`.`status` IN (",
        "those who are disabled are counted, by what they were",
    ),
    (
        "SELECT min(`webhook_deliveries`.`position`)",
        "the oldest of what waits in an App, which has an index of its own",
    ),
    (
        "SELECT COUNT(*) FROM `webhook_deliveries`",
        "what one endpoint did not take is counted, which has an index of its own",
    ),
    (
        "key_version` < ?",
        "what a rotation of keys has left to do is counted, or made over",
    ),
    (
        "SELECT COUNT(*) FROM `wallets` WHERE ((`wallets`.`app_id` = ?) AND (`wallets`.`environment` = ?))",
        "how many there are stands on each page",
    ),
    (
        "SELECT COUNT(*) FROM `outbox` WHERE (`outbox`.`ended_at` IS NULL)",
        "how many wait",
    ),
    (
        "SELECT DISTINCT `audit_entries`.`chain`",
        "`audit verify` reads every entry besides",
    ),
    (
        "SELECT DISTINCT `control_entries`.`chain`",
        "`audit verify` reads every entry besides",
    ),
    (
        "DELETE FROM `captured_messages` WHERE ((`captured_messages`.`app_id` = ?) AND (`captured_messages`.`environment` = ?))",
        "all are deleted",
    ),
    (
        "SELECT `budgets`.`used` FROM `budgets`",
        "the parts of one counter are added up",
    ),
    (
        "(`webhook_deliveries`.`endpoint_id` = ?)) AND (`webhook_deliveries`.`ended_at` IS NULL))",
        "all that waits for one endpoint ends, or an operator looks through it",
    ),
    (
        "(`sessions`.`environment` = ?) AND (`sessions`.`app_id` = ?)",
        "a sweep of one App whose test clock is ahead of the machine's",
    ),
    (
        "(`codes`.`environment` = ?) AND (`codes`.`app_id` = ?)",
        "a sweep of one App whose test clock is ahead of the machine's",
    ),
    ("FROM sqlite_schema t JOIN pragma_index_list", "migrating"),
];

fn flaw(text: &str, plan: &[String]) -> Option<String> {
    let walks = plan.iter().any(|step| walks(step));
    let is_allowed = ALLOWED.iter().any(|(part, _)| text.contains(part));
    (walks && !is_page(text, plan) && !is_allowed)
        .then(|| format!("{text}\n  {}", plan.join("\n  ")))
}

/// Whether rows are read in the order of an index, and no further than the page goes.
fn is_page(text: &str, plan: &[String]) -> bool {
    let is_bounded = text.ends_with(" LIMIT ?") || text.ends_with(" LIMIT ? OFFSET ?");
    is_bounded
        && text.contains(" ORDER BY ")
        && !plan
            .iter()
            .any(|step| step == "USE TEMP B-TREE FOR ORDER BY")
}

/// Whether it goes through the rows of a whole App, or through all there are.
fn walks(step: &str) -> bool {
    let words: Vec<&str> = step.split(' ').collect();
    let (does, of) = (words[0], words.get(1).copied().unwrap_or_default());
    if SMALL.contains(&of) {
        return false;
    }
    match does {
        // SQLite does not understand it.
        "SCAN?" => true,
        // But for the rows of the statement itself.
        "SCAN" => !(of == "CONSTANT" || of.starts_with('(') || step.ends_with("VALUES CLAUSE")),
        "SEARCH" => {
            step.contains(" AUTOMATIC ")
                || !compared(step).any(|column| !SHARED_BY_MANY.contains(&column))
        }
        _ => false,
    }
}

/// The columns by which an index is searched: `(app_id=? AND id>?)`, `((app_id,id)>(?,?))` or, after a skip, `(ANY(app_id) AND id=?)`.
fn compared(step: &str) -> impl Iterator<Item = &str> {
    let (_, terms) = step.split_once(" (").unwrap_or_default();
    let words = terms.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| !matches!(*word, "" | "AND" | "ANY" | "LEFT" | "JOIN"))
}

#[tokio::test]
async fn pr_58_what_goes_through_an_app_on_sqlite_is_found() {
    let flaw_of = |text: &str| {
        let mut watch = watch();
        let conn = &mut watch.as_mut().unwrap().conn;
        flaw(text, &plan(conn, text))
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
        assert_eq!(flaw_of(&text).is_some(), is_found, "{text}");
    }
}

/// A column that leads an index and is not known to say little is taken for one that says much.
#[tokio::test]
async fn indexes_are_told_of_by_their_columns() {
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
        // Unique: of a type and an address.
        ("sqlite_autoindex_wallets_2", "1000000 250000 62500 15625 1"),
        // Of some rows.
        ("outbox_due_at_id_idx", "100000 10 1"),
    ] {
        assert_eq!(said_of(index), said, "{index}");
    }
}
