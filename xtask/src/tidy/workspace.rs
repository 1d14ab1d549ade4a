//! The members of the workspace and everything they depend on, as cargo sees them.

use serde_json::Value;
use toml::Table;

use super::tree::Tree;
use crate::failure::{Context, Failure};
use crate::{process, project};

/// The workspace.
pub(super) struct Workspace {
    /// The root manifest.
    pub(super) manifest: Table,
    pub(super) members: Vec<Member>,
    /// Every package of the dependency graph on this platform, ours too.
    pub(super) packages: Vec<Package>,
}

/// A crate of ours.
pub(super) struct Member {
    pub(super) name: String,
    /// Path of its manifest, relative to the root.
    pub(super) path: String,
    pub(super) manifest: Table,
    pub(super) dependencies: Vec<Dependency>,
}

/// A line in a dependency table of a member.
pub(super) struct Dependency {
    pub(super) name: String,
    /// Whether only its tests use it.
    pub(super) for_tests: bool,
}

/// A crate of the dependency graph.
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// As its manifest says: an SPDX expression, or the older form with a slash.
    pub(super) licence: Option<String>,
}

impl Workspace {
    pub(super) fn read(tree: &Tree) -> Result<Self, Failure> {
        let metadata = metadata()?;
        let manifest = parse(tree, "Cargo.toml")?;
        let described = metadata
            .get("packages")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let ours = metadata.get("workspace_members").and_then(Value::as_array);
        let mut members = Vec::new();
        let mut packages = Vec::new();
        for package in described {
            packages.push(Package {
                name: text(package, "name")?,
                version: text(package, "version")?,
                licence: text(package, "license").ok(),
            });
            if package
                .get("id")
                .is_some_and(|id| ours.is_some_and(|ours| ours.contains(id)))
            {
                members.push(member(tree, package)?);
            }
        }
        Ok(Self {
            manifest,
            members,
            packages,
        })
    }
}

fn member(tree: &Tree, package: &Value) -> Result<Member, Failure> {
    let file = text(package, "manifest_path")?;
    let root = format!("{}/", project::root().display());
    let path = file.strip_prefix(&root).unwrap_or(&file).to_owned();
    let listed = package
        .get("dependencies")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let dependencies = listed
        .map(|dependency| {
            let for_tests = dependency.get("kind").and_then(Value::as_str) == Some("dev");
            Ok(Dependency {
                name: text(dependency, "name")?,
                for_tests,
            })
        })
        .collect::<Result<_, Failure>>()?;
    Ok(Member {
        name: text(package, "name")?,
        manifest: parse(tree, &path)?,
        path,
        dependencies,
    })
}

/// `cargo metadata` of this platform, so that crates of other systems need not be downloaded.
fn metadata() -> Result<Value, Failure> {
    let version = process::output(project::cargo().args(["version", "--verbose"]))?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .ok_or_else(|| Failure::new("cargo does not say which platform it is for"))?;
    let arguments = [
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform",
        host,
    ];
    let document = process::output(project::cargo().args(arguments))?;
    serde_json::from_str(&document).context("cannot understand `cargo metadata`")
}

fn parse(tree: &Tree, path: &str) -> Result<Table, Failure> {
    let file = tree
        .find(path)
        .ok_or_else(|| Failure::new(format!("{path} is not in the repository")))?;
    file.text.parse().context(path)
}

fn text(object: &Value, field: &str) -> Result<String, Failure> {
    let value = object.get(field).and_then(Value::as_str);
    value
        .map(str::to_owned)
        .ok_or_else(|| Failure::new(format!("`cargo metadata` has no {field}")))
}
