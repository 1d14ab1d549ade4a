//! Things that must be where people and programs look for them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Finding;
use super::tree::Tree;
use crate::project;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = migrations(tree);
    findings.extend(test_binaries(tree));
    findings.extend(readme(tree));
    findings.extend(ci_script(tree));
    findings
}

/// Both stores have the same migrations, each with an `up.sql`.
fn migrations(tree: &Tree) -> Vec<Finding> {
    let versions = |backend: &str| -> BTreeSet<String> {
        let start = format!("migrations/{backend}/");
        let inside = tree
            .files
            .iter()
            .filter_map(|file| file.path.strip_prefix(&start));
        inside
            .filter_map(|path| path.strip_suffix("/up.sql"))
            .map(str::to_owned)
            .collect()
    };
    let (sqlite, postgres) = (versions("sqlite"), versions("postgres"));
    let missing = |backend: &str, version: &String| {
        Finding::new(
            format!("migrations/{backend}/{version}/up.sql"),
            "the other store has this migration",
        )
    };
    let for_postgres = sqlite
        .difference(&postgres)
        .map(|version| missing("postgres", version));
    let for_sqlite = postgres
        .difference(&sqlite)
        .map(|version| missing("sqlite", version));
    for_postgres.chain(for_sqlite).collect()
}

/// One integration test binary per crate, `tests/it`: each further one links everything again.
fn test_binaries(tree: &Tree) -> Vec<Finding> {
    let is_binary = |path: &str| {
        let Some((package, inside)) = path.split_once("/tests/") else {
            return false;
        };
        let is_target =
            inside.ends_with("/main.rs") || inside.ends_with(".rs") && !inside.contains('/');
        !package.contains("/src") && is_target && inside != "it/main.rs"
    };
    let binaries = tree
        .files
        .iter()
        .filter(|file| file.path.starts_with("crates/") && is_binary(&file.path));
    binaries
        .map(|file| {
            Finding::new(
                &file.path,
                "make it a module of the crate's one test binary, tests/it",
            )
        })
        .collect()
}

/// The README shows the two commands.
fn readme(tree: &Tree) -> Vec<Finding> {
    let Some(readme) = tree.find("README.md") else {
        return vec![Finding::new("README.md", "there is none")];
    };
    let commands = ["cargo xtask dev", "cargo xtask test"];
    let missing = commands
        .into_iter()
        .filter(|command| !readme.text.contains(command));
    missing
        .map(|command| Finding::new("README.md", format!("show the command `{command}`")))
        .collect()
}

/// `.ci/run` can be run.
fn ci_script(tree: &Tree) -> Option<Finding> {
    let path = ".ci/run";
    let mode = fs::metadata(project::root().join(path)).map(|data| data.permissions().mode());
    let runs = tree.find(path).is_some() && mode.is_ok_and(|mode| mode & 0o111 == 0o111);
    (!runs).then(|| Finding::new(path, "it must be there and have mode 755"))
}

#[cfg(test)]
mod tests;
