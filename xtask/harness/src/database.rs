//! SQL on the databases of a run, through the clients `psql` and `sqlite3`.

use std::fs;
use std::process::Command;

use crate::failure::{Context, Failure};
use crate::{process, temporary};

/// Runs a script in which every statement must succeed. The URL selects the client.
pub fn run_script(database_url: &str, script: &str) -> Result<(), Failure> {
    let directory = temporary::directory("sql")?;
    let file = directory.join("script.sql");
    let mut client = match database_url.strip_prefix("sqlite:") {
        Some(path) => {
            let mut sqlite = Command::new("sqlite3");
            sqlite.args(["-bail", "-cmd", ".timeout 10000", path]);
            sqlite.arg(format!(".read {}", file.display()));
            sqlite
        }
        None => {
            let mut psql = Command::new("psql");
            psql.args(["-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-f"]);
            psql.arg(&file).arg(database_url);
            psql
        }
    };
    let written = fs::write(&file, script).context("cannot write a script");
    let outcome = written.and_then(|()| process::run_quietly(&mut client));
    fs::remove_dir_all(&directory).context("cannot remove a script")?;
    outcome
}

/// The output of one query: a line for each row, with tabs between its fields.
pub fn query(database_url: &str, query: &str) -> Result<String, Failure> {
    let mut client = match database_url.strip_prefix("sqlite:") {
        Some(path) => {
            let mut sqlite = Command::new("sqlite3");
            sqlite.args(["-tabs", path]);
            sqlite
        }
        None => {
            let mut psql = Command::new("psql");
            psql.args(["-qtA", "-F", "\t", database_url, "-c"]);
            psql
        }
    };
    process::output(client.arg(query))
}
