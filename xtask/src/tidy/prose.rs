//! `cargo xtask tidy prose`: the words and the length of sentences in docs, comments, string literals and log messages.
//!
//! `xtask/prose.toml` has the number of faults that each folder may still have, which may only fall. What callers and operators
//! read may have none: error messages, the CLI, log messages and the API description.

mod rust;
mod sentences;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use toml::{Table, Value};

use super::Finding;
use super::tree::{File, Tree};
use crate::failure::{Context, Failure};
use crate::project;
use sentences::{Fault, Word};

const LIMITS: &str = "xtask/prose.toml";

/// Files that may have no faults.
const PARTS: &[&str] = &["crates/edge/src/problem", "crates/server/src", API];
const API: &str = "docs/openapi.json";
/// The log messages of all crates, which may have none either.
const LOGS: &str = "logs";

/// A fault in a file.
struct LocatedFault<'a> {
    folder: &'a str,
    path: &'a str,
    fault: Fault,
}

#[derive(Default)]
struct Limits {
    /// The maximum number of faults of each folder.
    counts: BTreeMap<String, usize>,
    /// False positives: a path, and a part of the sentence.
    accepted: BTreeSet<(String, String)>,
}

impl Limits {
    fn read(tree: &Tree) -> Result<Self, Failure> {
        let Some(file) = tree.find(LIMITS) else {
            return Ok(Self::default());
        };
        let document: Table = file.text.parse().context(LIMITS)?;
        let counts = document.get("limits").and_then(Value::as_table);
        let counts = counts.into_iter().flatten().filter_map(|(folder, count)| {
            let count = usize::try_from(count.as_integer()?).ok()?;
            Some((folder.clone(), count))
        });
        let accepted = document.get("accepted").and_then(Value::as_array);
        let accepted = accepted.into_iter().flatten().filter_map(|entry| {
            let text = |name| entry.get(name).and_then(Value::as_str).map(str::to_owned);
            text("reason")?;
            Some((text("path")?, text("text")?))
        });
        Ok(Self {
            counts: counts.collect(),
            accepted: accepted.collect(),
        })
    }

    fn of(&self, folder: &str) -> usize {
        self.counts.get(folder).copied().unwrap_or_default()
    }

    /// Writes the numbers of new folders and lower numbers into the file.
    fn lower(&self, tree: &Tree, counts: &BTreeMap<&str, usize>) -> Result<(), Failure> {
        let text = tree.find(LIMITS).map_or("", |file| &file.text);
        let (before, rest) = text.split_once("[limits]\n").unwrap_or((text, ""));
        let behind: Vec<&str> = rest.lines().skip_while(|line| !line.is_empty()).collect();
        let mut lines = String::new();
        let counts = counts
            .iter()
            .filter(|(folder, _)| !PARTS.contains(folder) && **folder != LOGS);
        for (folder, count) in counts {
            let count = self
                .counts
                .get(*folder)
                .map_or(*count, |limit| *limit.min(count));
            lines.push_str(&format!("\"{folder}\" = {count}\n"));
        }
        let text = format!("{before}[limits]\n{lines}{}\n", behind.join("\n"));
        fs::write(project::root().join(LIMITS), text).context(LIMITS)
    }
}

/// Folders with more faults than allowed.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>, Failure> {
    let limits = Limits::read(tree)?;
    let (found, mut findings) = faults(tree, &limits)?;
    let counts = counts(&found);
    for (folder, count) in &counts {
        let limit = limits.of(folder);
        if *count > limit {
            findings.push(Finding::new(
                *folder,
                format!("{count} prose faults, {limit} allowed; `cargo xtask tidy prose {folder}` lists them"),
            ));
        }
    }
    for (folder, limit) in &limits.counts {
        let count = counts.get(folder.as_str()).copied().unwrap_or_default();
        if count < *limit {
            println!(
                "{folder}: {count} prose faults, {limit} allowed; lower it with `cargo xtask tidy prose --write`"
            );
        }
    }
    Ok(findings)
}

/// `tidy prose [--write] [PATH]…`
pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let tree = Tree::read()?;
    let limits = Limits::read(&tree)?;
    let (found, _) = faults(&tree, &limits)?;
    let counts = counts(&found);
    if arguments.iter().any(|argument| argument == "--write") {
        return limits.lower(&tree, &counts);
    }
    let is_asked = |found: &&LocatedFault<'_>| {
        let mut paths = arguments.iter();
        arguments.is_empty()
            || paths.any(|path| found.path.starts_with(path) || found.folder == path)
    };
    for LocatedFault { path, fault, .. } in found.iter().filter(is_asked) {
        println!("{path}:{}: {}: {}", fault.line, fault.what, fault.sentence);
    }
    for (folder, count) in &counts {
        println!("{count:5} of {:5} {folder}", limits.of(folder));
    }
    Ok(())
}

/// The faults of all texts, except accepted ones, and the entries that accept nothing.
fn faults<'a>(
    tree: &'a Tree,
    limits: &Limits,
) -> Result<(Vec<LocatedFault<'a>>, Vec<Finding>), Failure> {
    let crates: BTreeSet<&str> = tree
        .files
        .iter()
        .filter_map(|file| file.path.strip_suffix("/Cargo.toml"))
        .collect();
    let mut found = Vec::new();
    let mut unused = limits.accepted.clone();
    for file in &tree.files {
        let folder = folder(&crates, file);
        for (folder, paragraph) in texts(file, folder)? {
            for fault in sentences::faults(&paragraph) {
                let accepted = limits.accepted.iter().find(|(path, text)| {
                    *path == file.path && fault.sentence.contains(text.as_str())
                });
                if let Some(accepted) = accepted {
                    unused.remove(accepted);
                } else {
                    found.push(LocatedFault {
                        folder,
                        path: &file.path,
                        fault,
                    });
                }
            }
        }
    }
    let stale = unused.into_iter().map(|(path, text)| {
        Finding::new(
            LIMITS,
            format!("remove the outdated entry `{text}` of {path}"),
        )
    });
    Ok((found, stale.collect()))
}

/// The texts of a file, each with the folder that counts it.
fn texts<'a>(file: &File, folder: &'a str) -> Result<Vec<(&'a str, Vec<Word>)>, Failure> {
    if file.is_rust() {
        let texts = rust::texts(file)?;
        let prose = texts.prose.into_iter().map(|text| (folder, text));
        let logs = texts.logs.into_iter().map(|text| (LOGS, text));
        return Ok(prose.chain(logs).collect());
    }
    let paragraphs = if file.path.ends_with(".md") {
        sentences::paragraphs(file.lines())
    } else if file.path == API {
        descriptions(file)
    } else {
        Vec::new()
    };
    Ok(paragraphs.into_iter().map(|text| (folder, text)).collect())
}

/// The descriptions and summaries in the API description.
fn descriptions(file: &File) -> Vec<Vec<Word>> {
    let mut paragraphs = Vec::new();
    for (number, line) in file.lines() {
        let value = line.trim().trim_end_matches(',').split_once(": ");
        if let Some(("\"description\"" | "\"summary\"", value)) = value
            && let Ok(text) = serde_json::from_str::<String>(value)
        {
            paragraphs.extend(sentences::paragraphs(
                text.lines().map(|line| (number, line)),
            ));
        }
    }
    paragraphs
}

/// The part, the crate or the directory that counts the faults of a file.
fn folder<'a>(crates: &BTreeSet<&'a str>, file: &'a File) -> &'a str {
    let mut parts = PARTS.iter().filter(|_| !file.is_test());
    if let Some(part) = parts.find(|part| file.path.starts_with(**part)) {
        return part;
    }
    let directory = |path: &'a str| path.rsplit_once('/').map(|(directory, _)| directory);
    let mut directories = std::iter::successors(directory(&file.path), |path| directory(path));
    let found = directories.find(|directory| crates.contains(directory));
    found.or(directory(&file.path)).unwrap_or(".")
}

fn counts<'a>(found: &[LocatedFault<'a>]) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for found in found {
        *counts.entry(found.folder).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests;
