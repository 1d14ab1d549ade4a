//! Large tables, filled with copies of the rows of one App.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::ask;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::postgres::Cluster;

/// The number of rows in each table.
const MANY: u64 = 20_000;

/// Tables that do not grow with users: configuration of Apps, heads of chains and logs, and pending work.
const FEW: &[&str] = &[
    "__diesel_schema_migrations",
    "activity",
    "apps",
    "api_key_uses",
    "management_keys",
    "operator_links",
    "operators",
    "api_keys",
    "app_keys",
    "audit_chains",
    "audit_markers",
    "checkpoint_sinks",
    "checkpoints",
    "control_chains",
    "event_heads",
    "unsequenced_events",
    "leases",
    "migration_lock",
    "provider_connections",
    "rate_windows",
    "redirect_urls",
    "signing_keys",
    "user_counts",
    "webhook_endpoints",
    "webhook_replays",
    "webhook_secrets",
];

/// Columns of keys that are copied unchanged.
const KEPT: &[&str] = &[
    "environment",
    "purpose",
    "name",
    "kind",
    "provider",
    "wallet_type",
    "endpoint_id",
];

/// Columns with unique values that are not keys: addresses that are never parsed.
const OWN: &[&str] = &["public_address", "recipient"];

/// Rows of each table.
pub(crate) fn sizes(cluster: &Cluster) -> Result<HashMap<String, u64>, Failure> {
    let tables = ask(
        cluster,
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'",
    )?;
    let mut sizes = HashMap::new();
    for table in tables.into_iter().flatten() {
        let counted = ask(cluster, &format!("SELECT count(*) FROM {table}"))?;
        let count = counted.first().and_then(|row| row.first());
        let count = count.and_then(|count| count.parse().ok());
        let count = count.ok_or_else(|| Failure::new(format!("{table} cannot be counted")))?;
        sizes.insert(table, count);
    }
    Ok(sizes)
}

/// Fails if a table that grows has few rows.
pub(crate) fn require(cluster: &Cluster) -> Result<(), Failure> {
    let mut small: Vec<String> = sizes(cluster)?
        .into_iter()
        .filter(|(table, size)| *size < MANY / 2 && !FEW.contains(&table.as_str()))
        .map(|(table, size)| format!("{table} ({size})"))
        .collect();
    small.sort_unstable();
    match small.as_slice() {
        [] => Ok(()),
        _ => Err(Failure::new(format!(
            "too few rows in {}",
            small.join(", ")
        ))),
    }
}

/// The statements that copy the rows of one App into another one, each with its own ids and keys, until there are many. Copies belong to
/// existing users.
pub(crate) fn script(cluster: &Cluster, from: &str, to: &str) -> Result<String, Failure> {
    let columns = ask(
        cluster,
        "SELECT c.relname, a.attname, t.typname, EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique \
             AND a.attnum = ANY(i.indkey)) \
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid \
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped \
         ORDER BY c.relname, a.attnum",
    )?;
    let mut tables = Vec::<(String, Vec<(String, String)>)>::new();
    for row in columns {
        let [table, column, kind, is_unique] = &row[..] else {
            return Err(Failure::new(
                "a row of the list of columns has other fields",
            ));
        };
        let value = copied(column, kind, is_unique == "t", to);
        match tables.last_mut() {
            Some((last, values)) if last == table => values.push((column.clone(), value)),
            _ => tables.push((table.clone(), vec![(column.clone(), value)])),
        }
    }
    let sizes = sizes(cluster)?;
    // Disables foreign keys: the rows that copies refer to may not exist.
    let mut script = format!(
        "SET session_replication_role = replica;
CREATE TEMP TABLE people AS SELECT row_number() OVER () AS place, id FROM users WHERE app_id = '{to}';
CREATE UNIQUE INDEX ON people (place);
ANALYZE people;
"
    );
    for (table, values) in tables {
        let size = sizes.get(&table).copied().unwrap_or(0);
        if FEW.contains(&table.as_str()) || size >= MANY {
            continue;
        }
        let names: Vec<_> = values.iter().map(|(name, _)| name.as_str()).collect();
        let values: Vec<_> = values.iter().map(|(_, value)| value.as_str()).collect();
        writeln!(
            script,
            "INSERT INTO {table} ({}) SELECT {} FROM (SELECT one.*, row_number() OVER () AS copy FROM {table} AS one, \
             generate_series(1, 1 + {MANY} / greatest(1, (SELECT count(*) FROM {table} WHERE app_id = '{from}'))) \
             WHERE one.app_id = '{from}') AS one JOIN people ON people.place = 1 + one.copy * 7919 % (SELECT count(*) FROM people) \
             ON CONFLICT DO NOTHING;",
            names.join(", "),
            values.join(", "),
        )
        .context("cannot write to a string")?;
    }
    Ok(script)
}

/// The value of a column in a copy.
fn copied(column: &str, kind: &str, is_unique: bool, to: &str) -> String {
    // Ids in capital letters are below the highest valid one.
    let random = "upper(md5(random()::text))";
    match (column, kind) {
        ("app_id", _) => format!("'{to}'"),
        ("user_id", _) => "people.id".to_owned(),
        _ if KEPT.contains(&column) => format!("one.{column}"),
        (_, "bytea") if is_unique => format!("decode({random} || {random}, 'hex')"),
        _ if OWN.contains(&column) => format!("left({random} || {random}, length(one.{column}))"),
        // A phone number, or an id with the same prefix and length.
        (_, "text") if is_unique || column.ends_with("_id") => format!(
            "CASE WHEN one.{column} LIKE '+%' THEN '+49151' || lpad(floor(random() * 1e8)::text, 8, '0') ELSE \
             regexp_replace(one.{column}, '[^_]*$', '') || left({random}, length(substring(one.{column} FROM '[^_]*$'))) END"
        ),
        _ => format!("one.{column}"),
    }
}

#[cfg(test)]
mod tests {
    use super::copied;

    #[test]
    fn ids_are_unique_and_other_values_are_copied() {
        assert_eq!(copied("app_id", "text", true, "app_1"), "'app_1'");
        assert_eq!(copied("user_id", "text", false, "app_1"), "people.id");
        assert_eq!(copied("purpose", "text", true, "app_1"), "one.purpose");
        assert_eq!(copied("data", "text", false, "app_1"), "one.data");
        assert!(copied("hash", "bytea", true, "app_1").starts_with("decode("));
        assert!(copied("method_id", "text", false, "app_1").contains("one.method_id"));
    }
}
