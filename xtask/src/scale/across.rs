//! The statements of a run that asked more than one server (PR-57), and why they may.

use std::process::Command;

use crate::failure::Failure;
use crate::process;

/// What Citus did not hand to one server as it was, without the numbers that make two of one. Ours name their columns in quotes, as
/// diesel writes them; what else there is are the tests' own looks into a database.
const ASKED_SEVERAL: &str = "\
    SELECT DISTINCT regexp_replace(pg_stat_statements.query, '\\s+', ' ', 'g') \
    FROM citus_stat_statements() JOIN pg_stat_statements USING (queryid, userid, dbid) \
    WHERE executor <> 'router' ORDER BY 1";

/// Those that may, by what they begin with or have in them, and why.
const MAY: &[(&str, &str)] = &[];

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
        .filter(|statement| !MAY.iter().any(|(part, _)| statement.contains(part)))
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
