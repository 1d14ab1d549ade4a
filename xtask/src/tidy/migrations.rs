//! Migrations expand in one release and contract in a later one (PR-86), so that replicas of two releases run side by side.

use std::process::Command;

use super::Finding;
use super::tree::{File, Tree};
use crate::failure::Failure;
use crate::{process, project};

/// How a migration begins that removes what an earlier release stopped using. The number of that release follows.
const CONTRACT: &str = "-- contract: expanded in ";

pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>, Failure> {
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "tag", "--list"]);
    let tags = process::output(git.current_dir(project::root()))?;
    let tags: Vec<&str> = tags.lines().collect();
    Ok(findings(tree, &tags))
}

fn findings(tree: &Tree, tags: &[&str]) -> Vec<Finding> {
    let files = tree.files.iter().filter(|file| is_migration(&file.path));
    files.flat_map(|file| of_file(file, tags)).collect()
}

fn is_migration(path: &str) -> bool {
    path.starts_with("migrations/") && path.ends_with("/up.sql")
}

fn of_file(file: &File, tags: &[&str]) -> Vec<Finding> {
    if let Some(release) = file.text.strip_prefix(CONTRACT) {
        let release = release.lines().next().unwrap_or_default().trim();
        if tags.iter().any(|tag| is_of_release(tag, release)) {
            return Vec::new();
        }
        return vec![Finding::at(
            &file.path,
            1,
            format!("there is no tag of release {release}"),
        )];
    }
    let mut findings = Vec::new();
    for (line, statement) in statements(&file.text) {
        if let Some(what) = contracts(&statement) {
            findings.push(Finding::at(
                &file.path,
                line,
                format!(
                    "{what}, which the running release may still need; do it in a later release, in a file that begins with `{CONTRACT}…`"
                ),
            ));
        }
    }
    findings
}

/// Whether the tag is `v0.9`, or a patch of it such as `v0.9.2`.
fn is_of_release(tag: &str, release: &str) -> bool {
    let version = tag.strip_prefix('v').unwrap_or(tag);
    let rest = version
        .strip_prefix(release)
        .filter(|_| !release.is_empty());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The statements as words in upper case, each with the line on which it begins. Comments and texts in quotes are left out.
fn statements(text: &str) -> Vec<(usize, Vec<String>)> {
    let (mut found, mut words) = (Vec::new(), Vec::<String>::new());
    let (mut begun, mut in_quotes) = (1, false);
    for (number, line) in (1..).zip(text.lines()) {
        let mut rest = String::new();
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\'' => {
                    in_quotes = !in_quotes;
                    rest.push(' ');
                }
                _ if in_quotes => {}
                '-' if letters.peek() == Some(&'-') => break,
                '(' | ')' | ',' | ';' => {
                    rest.push(' ');
                    rest.push(letter);
                    rest.push(' ');
                }
                _ => rest.extend(letter.to_uppercase()),
            }
        }
        for word in rest.split_whitespace() {
            if word == ";" {
                found.push((begun, std::mem::take(&mut words)));
                continue;
            }
            if words.is_empty() {
                begun = number;
            }
            words.push(word.to_owned());
        }
    }
    if !words.is_empty() {
        found.push((begun, words));
    }
    found
}

/// What a statement takes away from the running release.
fn contracts(statement: &[String]) -> Option<&'static str> {
    let has = |word: &str| statement.iter().any(|found| found == word);
    if has("DROP") {
        return Some("DROP removes something");
    }
    if has("RENAME") {
        return Some("RENAME removes the old name");
    }
    let [first, second, ..] = statement else {
        return None;
    };
    if (first.as_str(), second.as_str()) != ("ALTER", "TABLE") {
        return None;
    }
    for part in parts(statement) {
        let begins = |words: &[&str]| has_sequence(part, words);
        if begins(&["TYPE"]) && begins(&["ALTER"]) {
            return Some("the type of a column changes");
        }
        if begins(&["NOT", "NULL"]) && !begins(&["DEFAULT"]) {
            return Some("NOT NULL without DEFAULT refuses rows of the running release");
        }
    }
    None
}

/// The parts of a statement between commas outside of parentheses.
fn parts(statement: &[String]) -> Vec<&[String]> {
    let mut depth = 0_u32;
    let is_end = |word: &String| {
        match word.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && word == ","
    };
    statement.split(is_end).collect()
}

fn has_sequence(part: &[String], words: &[&str]) -> bool {
    part.windows(words.len()).any(|found| found == words)
}

#[cfg(test)]
mod tests;
