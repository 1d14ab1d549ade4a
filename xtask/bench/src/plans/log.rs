//! Query plans in the log of Postgres (`auto_explain`, as JSON).

use std::collections::HashMap;

use serde_json::Value;

use xtask_harness::failure::{Context, Failure};

/// An executed statement.
pub(crate) struct Statement {
    /// Its text, with lists of parameters shortened.
    pub(crate) text: String,
    /// Large tables that were scanned in full.
    pub(crate) whole_tables: Vec<String>,
    /// Rows of large tables that were read, including those that did not match.
    pub(crate) read: u64,
    /// Rows that it returned or changed.
    pub(crate) returned: u64,
    /// Pages of 8 KiB that were accessed.
    pub(crate) pages: u64,
    /// The plan, a line for each step.
    pub(crate) outline: String,
}

/// The number of rows from which a table is large.
const MANY: u64 = 10_000;

/// The statements on our tables. `sizes` has the rows of each table.
pub(crate) fn statements(
    log: &str,
    sizes: &HashMap<String, u64>,
) -> Result<Vec<Statement>, Failure> {
    let mut found = Vec::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        if !(line.contains("duration: ") && line.ends_with(" plan:")) {
            continue;
        }
        let mut json = String::new();
        while let Some(line) = lines.next_if(|line| line.starts_with('\t')) {
            json.push_str(line);
        }
        let logged: Value = serde_json::from_str(&json).context("a plan is not JSON")?;
        if let Some(statement) = statement(&logged, sizes) {
            found.push(statement);
        }
    }
    match found.as_slice() {
        [] => Err(Failure::new("Postgres logged no plan")),
        _ => Ok(found),
    }
}

/// Returns `None` for a statement on other tables.
fn statement(logged: &Value, sizes: &HashMap<String, u64>) -> Option<Statement> {
    let plan = logged.get("Plan")?;
    let mut statement = Statement {
        text: normal(logged.get("Query Text")?.as_str()?),
        whole_tables: Vec::new(),
        read: 0,
        returned: number(plan, "Actual Rows"),
        pages: number(plan, "Shared Hit Blocks") + number(plan, "Shared Read Blocks"),
        outline: String::new(),
    };
    let is_ours = walk(plan, 1, &mut statement, sizes);
    is_ours.then_some(statement)
}

/// Adds a step of a plan and its children. Returns whether any of them uses one of our tables.
fn walk(
    step: &Value,
    depth: usize,
    statement: &mut Statement,
    sizes: &HashMap<String, u64>,
) -> bool {
    let text = |name: &str| step.get(name).and_then(Value::as_str).unwrap_or_default();
    let (kind, table) = (text("Node Type"), text("Relation Name"));
    let loops = number(step, "Actual Loops");
    let rows = number(step, "Actual Rows");
    let filtered =
        number(step, "Rows Removed by Filter") + number(step, "Rows Removed by Index Recheck");
    statement.outline.push_str(&format!(
        "{:depth$}  {kind} {table} {} rows {rows}, filtered {filtered}, loops {loops}\n",
        "",
        text("Index Name"),
        depth = depth * 2,
    ));
    let mut is_ours = sizes.contains_key(table);
    let below = step.get("Plans").and_then(Value::as_array);
    let below = below.map(Vec::as_slice).unwrap_or_default();
    if kind == "ModifyTable" {
        // The changed rows are those that its children return.
        let changed = below.iter().map(|step| number(step, "Actual Rows")).sum();
        statement.returned = statement.returned.max(changed);
    } else if sizes.get(table).is_some_and(|size| *size >= MANY) {
        // Scanning a small table in full is as fast.
        statement.read += (rows + filtered) * loops;
        if kind == "Seq Scan" {
            statement.whole_tables.push(table.to_owned());
        }
    }
    for step in below {
        is_ours |= walk(step, depth + 1, statement, sizes);
    }
    is_ours
}

fn number(step: &Value, name: &str) -> u64 {
    step.get(name).and_then(Value::as_u64).unwrap_or(0)
}

/// The text of a statement, independent of the length of its lists of parameters and rows.
fn normal(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut digits_of_parameter = false;
    for letter in text.chars() {
        if digits_of_parameter && letter.is_ascii_digit() {
            continue;
        }
        digits_of_parameter = letter == '$';
        short.push(letter);
    }
    while short.contains("$, $") {
        short = short.replace("$, $", "$");
    }
    while short.contains("($), ($)") {
        short = short.replace("($), ($)", "($)");
    }
    short.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "2026-01-01 LOG:  duration: 0.1 ms  plan:\n\t{\n\t  \"Query Text\": \"SELECT 1 FROM users WHERE id IN ($1, $2)\",\n\t  \
        \"Plan\": {\"Node Type\": \"Limit\", \"Actual Rows\": 1, \"Actual Loops\": 1, \"Shared Hit Blocks\": 7, \"Plans\": [{\"Node Type\": \
        \"Seq Scan\", \"Relation Name\": \"users\", \"Actual Rows\": 1, \"Actual Loops\": 2, \"Rows Removed by Filter\": 20}]}\n\t}\n\
        2026-01-01 LOG:  duration: 0.1 ms  plan:\n\t{\"Query Text\": \"SELECT 1 FROM pg_class\", \"Plan\": {\"Node Type\": \"Seq Scan\", \
        \"Relation Name\": \"pg_class\", \"Actual Rows\": 1, \"Actual Loops\": 1}}\n\
        2026-01-01 LOG:  duration: 0.1 ms  plan:\n\t{\"Query Text\": \"DELETE FROM users\", \"Plan\": {\"Node Type\": \"ModifyTable\", \
        \"Relation Name\": \"users\", \"Actual Rows\": 0, \"Actual Loops\": 1, \"Plans\": [{\"Node Type\": \"Index Scan\", \"Relation Name\": \
        \"users\", \"Actual Rows\": 3, \"Actual Loops\": 1}]}}\n";

    #[test]
    fn executed_statements_are_parsed() {
        let sizes = HashMap::from([("users".to_owned(), MANY)]);
        let found = statements(LOG, &sizes).unwrap();
        let [select, delete] = &found[..] else {
            panic!("{}", found.len())
        };
        assert_eq!(select.text, "SELECT 1 FROM users WHERE id IN ($)");
        assert_eq!((select.read, select.returned, select.pages), (42, 1, 7));
        assert_eq!(select.whole_tables, ["users"]);
        assert_eq!((delete.read, delete.returned), (3, 3));
        assert!(delete.whole_tables.is_empty());
        assert!(statements("nothing", &sizes).is_err());
    }
}
