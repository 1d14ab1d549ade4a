//! The statements of a run that asked more than one server (PR-57), and why they may.

use std::process::Command;

use crate::failure::Failure;
use crate::process;

/// What Citus did not hand to the server of one App.
const ASKED_SEVERAL: &str = "\
    SELECT DISTINCT executor || ': ' || regexp_replace(query, '\\s+', ' ', 'g') FROM citus_stat_statements \
    WHERE partition_key IS NULL ORDER BY 1";

/// Those that may, by what is in them, and why.
const MAY: &[(&[&str], &str)] = &[
    (
        &["DELETE FROM ", ") IN (SELECT ", " LIMIT "],
        "a sweep: of all Apps, a thousand rows at most, by one process",
    ),
    (
        &["insert-select: WITH appended AS (INSERT INTO audit_entries"],
        "entries of one App, copied to the server that has it; Citus names no key of what it copies",
    ),
    (
        &[
            "FROM \"outbox\" WHERE ((\"outbox\".\"ended_at\" IS NULL) AND (\"outbox\".\"due_at\" <= ",
        ],
        "the worker asks which Apps have something to deliver, once a second; it does without when a server is away",
    ),
    (
        &["FROM \"events_inbox\"", " LIMIT "],
        "which worlds have events without a place, once a second; it does without when a server is away",
    ),
    (
        &["FROM \"event_heads\" WHERE ", "\"oldest_id\" IS NOT NULL"],
        "a sweep: the ends of all logs, a thousand at a time, by one process",
    ),
    (
        &[
            "FROM \"audit_chains\"",
            "ORDER BY \"audit_chains\".\"app_id\"",
            " LIMIT ",
        ],
        "a checkpoint names the ends of all chains, a thousand at a time, by one process; none is made while a server is away",
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
        "which endpoints have something due, once a second; each App is asked by itself when a server is away",
    ),
    (
        &[
            "FROM \"webhook_replays\"",
            "ORDER BY \"webhook_replays\".\"next_at\"",
        ],
        "which replays go on, once a second; they rest while a server is away",
    ),
    (
        &["insert-select: WITH taken AS (DELETE FROM events_inbox"],
        "events of one App get their places; Citus names no key of what it copies",
    ),
    (
        &["SELECT COUNT(*) FROM \"outbox\""],
        "how much waits, for an operator",
    ),
    (
        &[" LEFT OUTER JOIN ", "\".\"app_id\" = $"],
        "of one App; Citus names no key of a join, and carries it out on one server (EXPLAIN: one task)",
    ),
    (&["NOT (EXISTS ", "\".\"app_id\" = $"], "the same"),
    (
        &["\"provider_connections\""],
        "every server has a copy of them: a callback names one before its App is known",
    ),
    (
        &["UPDATE \"apps\""],
        "every server has a copy of the Apps; settings and test clocks are rare",
    ),
    (
        &["UPDATE \"api_keys\""],
        "every server has a copy of the keys; they are revoked by an operator",
    ),
    (
        &["INSERT INTO \"apps\""],
        "every server has a copy of the Apps; they are made by an operator",
    ),
    (
        &["FROM \"apps\""],
        "every server has a copy of the Apps, and the coordinator reads its own",
    ),
    (
        &["INSERT INTO \"api_keys\""],
        "every server has a copy of the keys; they are made by an operator",
    ),
    (
        &["FROM (\"api_keys\""],
        "a key is looked up by its hash, before its App is known, in the coordinator's own copy",
    ),
    (&["FROM \"api_keys\""], "the same"),
    (
        &[
            "FROM (\"wallet_keys\" INNER JOIN \"wallets\"",
            "(\"wallet_keys\".\"wallet_id\" > $1)",
        ],
        "vault verify walks the wallets of all Apps",
    ),
    (
        &["FROM \"app_keys\" ORDER BY"],
        "vault verify and rotate-root walk the keys of all Apps",
    ),
    (
        &["FROM \"app_keys\" WHERE", "\"root_version\" = "],
        "which App key is under a root version: for a new App, and a rotation",
    ),
    (
        &["SELECT \"app_keys\".\"version\" FROM \"app_keys\" WHERE (\"app_keys\".\"purpose\" = "],
        "whether there is any App key at all: for the first App",
    ),
];

/// Prints them, and fails where one is not in the list.
pub(super) fn look(url: &str) -> Result<(), Failure> {
    let ask = |statement: &str| {
        process::output(Command::new("psql").args([url, "-qAt", "-c", statement]))
    };
    ask("CREATE EXTENSION IF NOT EXISTS citus")?;
    ask("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")?;
    let asked = ask(ASKED_SEVERAL)?;
    let unknown: Vec<&str> = asked
        .lines()
        .filter(|statement| is_ours(statement))
        .filter(|statement| !MAY.iter().any(|(parts, _)| has(statement, parts)))
        .collect();
    println!(
        "{} statements asked more than one server",
        asked.lines().count()
    );
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "these asked more than one server, and have no reason in xtask/src/scale/across.rs:\n{}",
        unknown.join("\n")
    )))
}

fn has(statement: &str, parts: &[&str]) -> bool {
    parts.iter().all(|part| statement.contains(part))
}

/// What the tests look at in a database names its columns without quotes; ours are diesel's, which writes them, and the one that
/// appends to the audit log.
fn is_ours(statement: &str) -> bool {
    statement.contains("\".\"")
        || statement.contains("INSERT INTO \"")
        || statement.contains("audit_entries (")
}
