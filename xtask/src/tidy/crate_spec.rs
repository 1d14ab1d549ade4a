//! Crate specifications in `deny.toml`: `tokio`, or `tokio:<1.44.2` for some of its versions.

use std::fmt;

use semver::{Version, VersionReq};
use toml::{Table, Value};

use super::Finding;
use super::tree::Tree;

/// The configuration of cargo-deny.
pub(super) const CONFIGURATION: &str = "deny.toml";

/// An entry of a list under `[bans]`.
pub(super) struct CrateSpec {
    pub(super) name: String,
    /// The versions; every version if absent.
    pub(super) versions: Option<VersionReq>,
    /// Why it is on the list.
    pub(super) reason: String,
    /// Whether some crates may use it all the same.
    pub(super) has_wrappers: bool,
}

impl CrateSpec {
    fn read(entry: &Value) -> Result<Self, String> {
        let text = entry.get("crate").and_then(Value::as_str);
        let text = text.ok_or("an entry says no `crate`")?;
        let (name, versions) = match text.split_once(':') {
            Some((name, versions)) => {
                let versions = VersionReq::parse(versions).map_err(|cause| {
                    format!("cannot understand the versions of {text}: {cause}")
                })?;
                (name, Some(versions))
            }
            None => (text, None),
        };
        let reason = entry.get("reason").and_then(Value::as_str);
        let reason = reason.filter(|reason| !reason.is_empty());
        let reason = reason.ok_or_else(|| format!("{text} stands there without a `reason`"))?;
        Ok(Self {
            name: name.to_owned(),
            versions,
            reason: reason.to_owned(),
            has_wrappers: entry.get("wrappers").is_some(),
        })
    }

    pub(super) fn takes_in(&self, version: &Version) -> bool {
        self.versions
            .as_ref()
            .is_none_or(|versions| versions.matches(version))
    }
}

impl fmt::Display for CrateSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.versions {
            Some(versions) => write!(f, "{} {versions}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The list of this name under `[bans]`, and its faults. A missing list is an error too, because nothing would be checked.
pub(super) fn list(tree: &Tree, name: &str) -> (Vec<CrateSpec>, Vec<Finding>) {
    let configuration: Option<Table> = tree
        .find(CONFIGURATION)
        .and_then(|file| file.text.parse().ok());
    let entries = configuration
        .as_ref()
        .and_then(|configuration| configuration.get("bans")?.get(name)?.as_array());
    let Some(entries) = entries else {
        let message = format!("there is no `{name}` list under [bans]");
        return (Vec::new(), vec![Finding::new(CONFIGURATION, message)]);
    };
    let mut specs = Vec::new();
    let mut findings = Vec::new();
    for entry in entries {
        match CrateSpec::read(entry) {
            Ok(spec) => specs.push(spec),
            Err(fault) => {
                findings.push(Finding::new(CONFIGURATION, format!("bans.{name}: {fault}")))
            }
        }
    }
    (specs, findings)
}

#[cfg(test)]
mod tests;
