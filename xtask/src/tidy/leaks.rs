//! Traces of one machine that have no place in the repository.

use super::Finding;
use super::tree::Tree;

/// Prefixes of absolute paths in home directories, in halves, so that this file is no finding.
const DIRECTORIES: &[(&str, &str)] = &[
    ("/ro", "ot/"),
    ("/ho", "me/"),
    ("/Us", "ers/"),
    ("/wo", "rk/"),
    ("/mnt", "/"),
    ("C:\\Us", "ers\\"),
];

/// Words that only stand where another registry than the public one is set up.
const REGISTRIES: &[(&str, &str)] = &[
    ("index", "-url"),
    ("find", "-links"),
    ("trusted", "-host"),
    ("replace", "-with"),
    ("arti", "factory"),
    ("sparse", "+http"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            if let Some(path) = machine_path(line) {
                findings.push(Finding::at(
                    &file.path,
                    number,
                    format!("`{path}` is a path of some machine"),
                ));
            }
            if let Some(word) = registry(line) {
                findings.push(Finding::at(
                    &file.path,
                    number,
                    format!("`{word}` points at a registry of some machine"),
                ));
            }
        }
    }
    findings
}

fn machine_path(line: &str) -> Option<String> {
    DIRECTORIES
        .iter()
        .map(|(one, other)| format!("{one}{other}"))
        .find(|path| {
            // Not in the middle of a longer path or of a URL.
            line.match_indices(path.as_str()).any(|(start, _)| {
                let before = line.get(..start).and_then(|text| text.chars().next_back());
                !before.is_some_and(|c| {
                    c.is_alphanumeric()
                        || matches!(c, '.' | '_' | '-' | '/' | '}' | ')' | '~' | '*')
                })
            })
        })
}

fn registry(line: &str) -> Option<String> {
    REGISTRIES
        .iter()
        .map(|(one, other)| format!("{one}{other}"))
        .find(|word| line.contains(word.as_str()))
}

#[cfg(test)]
mod tests;
