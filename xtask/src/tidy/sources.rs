//! Rust sources and other text: what a reader trips over.

use super::Finding;
use super::tree::{File, Tree};

/// A piece of text that may not stand in code, and why.
struct Banned {
    /// In two halves, so that this table does not contain what it looks for.
    halves: (&'static str, &'static str),
    reason: &'static str,
}

/// In every Rust file.
const UNFINISHED: &[Banned] = &[
    Banned {
        halves: ("todo", "!("),
        reason: "finish it, or leave it out and write it down as work to do",
    },
    Banned {
        halves: ("unimplemented", "!("),
        reason: "finish it, or leave it out and write it down as work to do",
    },
    Banned {
        halves: ("dbg", "!("),
        reason: "left over from looking for a fault",
    },
    Banned {
        halves: ("#[ign", "ore"),
        reason: "a test that does not run proves nothing",
    },
    Banned {
        halves: ("#[should", "_panic"),
        reason: "assert what happens instead",
    },
];

/// In tests.
const SLEEPING: &[Banned] = &[
    Banned {
        halves: ("thread::", "sleep"),
        reason: "wait for the event, not for a time",
    },
    Banned {
        halves: ("time::", "sleep("),
        reason: "wait for the event, not for a time",
    },
];

/// Files that are written by programs.
const GENERATED: &[&str] = &["Cargo.lock", "docs/openapi.json"];
/// Inputs to start from, which are whatever they must be.
const SEEDS: &str = "xtask/fuzz/corpus/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .files
        .iter()
        .filter(|file| !GENERATED.contains(&file.path.as_str()) && !file.path.starts_with(SEEDS))
    {
        findings.extend(white_space(file));
        if file.is_rust() {
            findings.extend(module_doc(file));
            findings.extend(banned(file, UNFINISHED));
            if file.is_test() {
                findings.extend(banned(file, SLEEPING));
            }
        }
    }
    findings
}

/// No spaces at the end of a line, no tabs in Rust, one line end at the end.
fn white_space(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        if line.ends_with([' ', '\t', '\r']) {
            findings.push(Finding::at(
                &file.path,
                number,
                "white space at the end of the line",
            ));
        }
        if file.is_rust() && line.contains('\t') {
            findings.push(Finding::at(&file.path, number, "a tab"));
        }
    }
    if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
        findings.push(Finding::new(&file.path, "end the file with one line end"));
    }
    findings
}

/// Each module says in its first line what it is. Tests say it in their names.
fn module_doc(file: &File) -> Option<Finding> {
    let first = file.text.lines().next().unwrap_or_default();
    let needs_one = !file.is_test();
    (needs_one && !first.starts_with("//!"))
        .then(|| Finding::at(&file.path, 1, "say in a `//!` comment what this module is"))
}

fn banned(file: &File, table: &[Banned]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Banned {
        halves: (one, other),
        reason,
    } in table
    {
        let text = format!("{one}{other}");
        for (number, line) in file.lines().filter(|(_, line)| line.contains(&text)) {
            // A comment may speak of it.
            if !line.trim_start().starts_with("//") {
                findings.push(Finding::at(
                    &file.path,
                    number,
                    format!("`{text}`: {reason}"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests;
