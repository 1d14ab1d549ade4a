//! The statements of a run that accessed more than one server (PR-57), and the reasons for which they may.

use xtask_harness::database;
use xtask_harness::failure::Failure;

/// Selects the statements that Citus did not route to the server of one App.
const ACROSS_SERVERS: &str = "\
    SELECT DISTINCT executor || ': ' || regexp_replace(query, '\\s+', ' ', 'g') FROM citus_stat_statements \
    WHERE partition_key IS NULL ORDER BY 1";

/// Statements that may: parts of their text, and the reason.
const ALLOWED: &[(&[&str], &str)] = &[
    (
        &["DELETE FROM ", ") IN (SELECT ", " LIMIT "],
        "a sweep of all Apps: at most a thousand rows, by one process",
    ),
    (
        &["insert-select: WITH appended AS (INSERT INTO audit_entries"],
        "entries of one App, copied to its server; Citus reports no key for a copy",
    ),
    (
        &[
            "FROM \"outbox\"",
            " GROUP BY \"outbox\".\"app_id\" ORDER BY ",
        ],
        "the Apps with due messages, once a second; skipped while a server is unreachable",
    ),
    (
        &["FROM \"unsequenced_events\"", " LIMIT "],
        "the worlds with unsequenced events, once a second; skipped while a server is unreachable",
    ),
    (
        &["FROM \"event_heads\" WHERE ", "\"oldest_id\" IS NOT NULL"],
        "a sweep of the ends of all logs: a thousand at a time, by one process",
    ),
    (
        &[
            "FROM \"audit_chains\"",
            "ORDER BY \"audit_chains\".\"app_id\"",
            " LIMIT ",
        ],
        "a checkpoint covers the ends of all chains: a thousand at a time, by one process; skipped while a server is unreachable",
    ),
    (
        &[
            "FROM \"control_chains\"",
            "ORDER BY \"control_chains\".\"app_id\"",
            " LIMIT ",
        ],
        "the same",
    ),
    (
        &[
            "FROM \"webhook_deliveries\"",
            "ORDER BY \"webhook_deliveries\".\"app_id\"",
            " LIMIT ",
        ],
        "the endpoints with due deliveries, once a second; queried per App while a server is unreachable",
    ),
    (
        &[
            "FROM \"webhook_replays\"",
            "ORDER BY \"webhook_replays\".\"next_at\"",
        ],
        "the running replays, once a second; paused while a server is unreachable",
    ),
    (
        &["insert-select: WITH taken AS (DELETE FROM unsequenced_events"],
        "events of one App are sequenced; Citus reports no key for a copy",
    ),
    (
        &["FROM \"outbox\"", " GROUP BY \"outbox\".\"app_id\", "],
        "the Apps with too many pending messages, every 15 s, if there are that many in all",
    ),
    (
        &["SELECT \"outbox\".\"lane\" FROM \"outbox\""],
        "whether there are that many, every 15 s",
    ),
    (
        &["FROM \"outbox\"", " GROUP BY \"outbox\".\"channel\", "],
        "the numbers of pending messages, every 15 s",
    ),
    (
        &["SELECT COUNT(*) FROM \"outbox\""],
        "the number of pending messages, for an operator",
    ),
    (
        &[" LEFT OUTER JOIN ", "\".\"app_id\" = $"],
        "of one App; Citus reports no key for a join, which it runs on one server (EXPLAIN: one task)",
    ),
    (&["NOT (EXISTS ", "\".\"app_id\" = $"], "the same"),
    (
        &["\"provider_connections\""],
        "replicated to every server, because a callback names one before its App is known",
    ),
    (
        &["UPDATE \"apps\""],
        "replicated to every server; changes of settings and test clocks are rare",
    ),
    (
        &["UPDATE \"api_keys\""],
        "replicated to every server; keys are revoked by an operator",
    ),
    (
        &["INSERT INTO \"apps\""],
        "replicated to every server; Apps are created by an operator",
    ),
    (
        &["FROM \"apps\""],
        "replicated to every server; the coordinator reads its own copy",
    ),
    (
        &["INSERT INTO \"api_keys\""],
        "replicated to every server; keys are created by an operator",
    ),
    (
        &["FROM (\"api_keys\""],
        "a key is looked up by its hash, before its App is known, in the coordinator's copy",
    ),
    (&["FROM \"api_keys\""], "the same"),
    (
        &[
            "FROM (\"wallet_keys\" INNER JOIN \"wallets\"",
            "(\"wallet_keys\".\"wallet_id\" > $1)",
        ],
        "vault verify reads the wallets of all Apps",
    ),
    (
        &["FROM \"app_keys\" ORDER BY"],
        "vault verify and rotate-root read the keys of all Apps",
    ),
    (
        &["FROM \"app_keys\" WHERE", "\"root_version\" = "],
        "the App keys under a root version, for a new App and for a rotation",
    ),
    (
        &["SELECT \"app_keys\".\"version\" FROM \"app_keys\" WHERE (\"app_keys\".\"purpose\" = "],
        "whether any App key exists, for the first App",
    ),
];

/// Prints their number, and fails if one is not allowed.
pub(super) fn check(url: &str) -> Result<(), Failure> {
    let extensions = "CREATE EXTENSION IF NOT EXISTS citus;\nCREATE EXTENSION IF NOT EXISTS pg_stat_statements;\n";
    database::run_script(url, extensions)?;
    let asked = database::query(url, ACROSS_SERVERS)?;
    let unknown: Vec<&str> = asked
        .lines()
        .filter(|statement| is_ours(statement))
        .filter(|statement| !ALLOWED.iter().any(|(parts, _)| has(statement, parts)))
        .collect();
    println!(
        "{} statements accessed more than one server",
        asked.lines().count()
    );
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "these accessed more than one server, without a reason in xtask/lab/src/scale/across.rs:\n{}",
        unknown.join("\n")
    )))
}

fn has(statement: &str, parts: &[&str]) -> bool {
    parts.iter().all(|part| statement.contains(part))
}

/// Whether the service sent a statement. Those of diesel have quoted names; one that appends to the audit log is written by hand. The tests
/// use unquoted names.
fn is_ours(statement: &str) -> bool {
    statement.contains("\".\"")
        || statement.contains("INSERT INTO \"")
        || statement.contains("audit_entries (")
}
