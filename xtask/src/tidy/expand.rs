//! Migrations that a running older release would not survive.
//!
//! The first release has one migration, the whole schema. During an upgrade, processes of the old release run on the new schema. Later
//! migrations therefore only expand it: they drop and rename nothing, and new `NOT NULL` columns have a default.

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let versions = |backend: &str| {
        let start = format!("migrations/{backend}/");
        let mut files: Vec<_> = tree
            .files
            .iter()
            .filter(|file| file.path.starts_with(&start) && file.path.ends_with("/up.sql"))
            .collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files
    };
    let later = ["sqlite", "postgres"]
        .into_iter()
        .flat_map(|backend| versions(backend).into_iter().skip(1));
    later
        .flat_map(|file| {
            let finding = |message| Finding::new(&file.path, message);
            refused(&file.text).into_iter().map(finding)
        })
        .collect()
}

/// The reasons to refuse a migration.
fn refused(sql: &str) -> Vec<&'static str> {
    let without_comments: Vec<&str> = sql
        .lines()
        .map(|line| line.split_once("--").map_or(line, |(code, _)| code))
        .collect();
    let mut reasons = Vec::new();
    for statement in without_comments.join(" ").to_uppercase().split(';') {
        let words: Vec<&str> = statement.split_whitespace().collect();
        if words.contains(&"DROP") {
            reasons.push("DROP: a process of the previous release still reads it");
        }
        if words.contains(&"RENAME") {
            reasons.push("RENAME: a process of the previous release uses the old name");
        }
        let alters = words.starts_with(&["ALTER", "TABLE"]);
        let not_null = words.windows(2).any(|pair| pair == ["NOT", "NULL"]);
        if alters && not_null && !words.contains(&"DEFAULT") {
            reasons.push("NOT NULL without DEFAULT: an insert of the previous release would fail");
        }
    }
    reasons
}

#[cfg(test)]
mod tests;
