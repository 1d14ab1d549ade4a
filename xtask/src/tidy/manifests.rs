//! Manifests: versions, reasons and lints stand in one place.

use toml::{Table, Value};

use super::Finding;
use super::lock::LOCKS;
use super::tree::{File, Tree};
use super::workspace::{Member, Workspace};

/// What every member takes over from the workspace.
const INHERITED: &[&str] = &["version", "edition", "rust-version", "license", "publish"];

const DEPENDENCY_TABLES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

pub(super) fn check(tree: &Tree, workspace: &Workspace) -> Vec<Finding> {
    let mut findings: Vec<Finding> = workspace.members.iter().flat_map(member).collect();
    if let Some(root) = tree.find("Cargo.toml") {
        findings.extend(reasons(root));
        findings.extend(declarations(root, workspace));
    }
    for lock in LOCKS.iter().filter_map(|path| tree.find(path)) {
        findings.extend(sources(lock));
    }
    findings
}

/// A member's own manifest.
fn member(member: &Member) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |message: String| findings.push(Finding::new(&member.path, message));
    let package = member.manifest.get("package").and_then(Value::as_table);
    for key in INHERITED {
        if !package
            .and_then(|package| package.get(*key))
            .is_some_and(is_inherited)
        {
            say(format!("say `{key}.workspace = true`"));
        }
    }
    if package
        .and_then(|package| package.get("description"))
        .is_none()
    {
        say("say in `description` what this crate is".to_owned());
    }
    if !member.manifest.get("lints").is_some_and(is_inherited) {
        say("say `[lints] workspace = true`".to_owned());
    }
    for (name, value) in dependencies(&member.manifest) {
        if !is_inherited(value) {
            say(format!(
                "declare {name} in the root manifest and say `{name}.workspace = true`"
            ));
        } else if value.get("features").is_some() || value.get("default-features").is_some() {
            say(format!(
                "the features of {name} belong in the root manifest, so that every member builds the same one"
            ));
        }
    }
    findings
}

/// `x.workspace = true`.
fn is_inherited(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

/// Every dependency line of a manifest, those for one platform too.
fn dependencies(manifest: &Table) -> Vec<(&String, &Value)> {
    let platforms = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flatten();
    let tables =
        std::iter::once(manifest).chain(platforms.filter_map(|(_, platform)| platform.as_table()));
    tables
        .flat_map(|table| {
            DEPENDENCY_TABLES
                .iter()
                .filter_map(|name| table.get(*name)?.as_table())
        })
        .flatten()
        .collect()
}

/// Above each dependency of others stands why it is there.
fn reasons(root: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut inside = false;
    let mut above = "";
    for (number, line) in root.lines() {
        if line.starts_with('[') {
            inside = line == "[workspace.dependencies]";
        } else if inside && line.contains('=') && !line.starts_with('#') {
            let is_ours = line.contains("path = ");
            if !is_ours && !above.starts_with('#') {
                findings.push(Finding::at(
                    &root.path,
                    number,
                    "say in a comment above why this dependency is there",
                ));
            }
        }
        above = line;
    }
    findings
}

/// Checks the table of the root manifest: every dependency is used and from crates.io.
fn declarations(root: &File, workspace: &Workspace) -> Vec<Finding> {
    let declared = workspace
        .manifest
        .get("workspace")
        .and_then(|table| table.get("dependencies"));
    let mut findings = Vec::new();
    for (name, value) in declared.and_then(Value::as_table).into_iter().flatten() {
        let mut say = |message: String| {
            let line = root
                .lines()
                .find(|(_, line)| line.starts_with(&format!("{name} ")));
            findings.push(Finding {
                path: root.path.clone(),
                line: line.map(|(number, _)| number),
                message,
            });
        };
        if value.get("git").is_some() || value.get("registry").is_some() {
            say(format!("{name} does not come from crates.io"));
        }
        let is_used = workspace.members.iter().any(|member| {
            dependencies(&member.manifest)
                .iter()
                .any(|(used, _)| *used == name)
        });
        if !is_used {
            say(format!("no member uses {name}"));
        }
    }
    findings
}

/// Everything in the lock file is ours or from crates.io.
fn sources(lock: &File) -> Vec<Finding> {
    const CRATES_IO: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let foreign = lock
        .lines()
        .filter(|(_, line)| line.starts_with("source = ") && *line != CRATES_IO);
    foreign
        .map(|(number, _)| {
            Finding::at(
                &lock.path,
                number,
                "this package does not come from crates.io",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests;
