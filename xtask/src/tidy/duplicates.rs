//! Duplicate versions of a crate: each is accepted by hand, in `bans.skip` of `deny.toml`, with a reason.

use std::collections::BTreeSet;

use semver::Version;

use super::Finding;
use super::crate_spec::{self, CONFIGURATION, CrateSpec};
use super::lock::Lock;
use super::tree::Tree;
use crate::failure::Failure;

const LOCK: &str = "Cargo.lock";

pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>, Failure> {
    let (accepted, mut findings) = crate_spec::list(tree, "skip");
    if let Some(file) = tree.find(LOCK) {
        let lock = Lock::read(file)?;
        findings.extend(unknown(&accepted, &lock));
        findings.extend(stale(&accepted, &lock));
    }
    Ok(findings)
}

/// Duplicates that are not accepted. One version of each crate is in no list.
fn unknown(accepted: &[CrateSpec], lock: &Lock) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, versions) in lock.versions.iter().filter(|(_, all)| all.len() > 1) {
        let rest: Vec<&Version> = versions
            .iter()
            .filter(|version| !is_accepted(accepted, name, version))
            .collect();
        let message = match rest.as_slice() {
            [_] => continue,
            [] => format!(
                "leave one version of {name} off bans.skip, or a further one is not noticed"
            ),
            several => format!(
                "{name} is there as {}; make it one, or say in bans.skip of {CONFIGURATION} why that one is there besides",
                listed(several)
            ),
        };
        findings.push(Finding::new(LOCK, message));
    }
    findings
}

fn is_accepted(accepted: &[CrateSpec], name: &str, version: &Version) -> bool {
    accepted
        .iter()
        .any(|spec| spec.name == name && spec.takes_in(version))
}

/// Outdated entries: each must match one version of a crate that has several.
fn stale(accepted: &[CrateSpec], lock: &Lock) -> Vec<Finding> {
    let none = BTreeSet::new();
    let mut findings = Vec::new();
    for spec in accepted {
        let versions = lock.versions.get(&spec.name).unwrap_or(&none);
        let meant: Vec<&Version> = versions
            .iter()
            .filter(|version| spec.takes_in(version))
            .collect();
        let message = match meant.as_slice() {
            [] => format!("bans.skip: {spec} is no longer in {LOCK}; remove it"),
            [_] if versions.len() < 2 => {
                format!("bans.skip: {spec} is the only version now; remove it")
            }
            [_] => continue,
            several => format!("bans.skip: {spec} means {}; name one", listed(several)),
        };
        findings.push(Finding::new(CONFIGURATION, message));
    }
    findings
}

fn listed(versions: &[&Version]) -> String {
    let texts: Vec<String> = versions.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests;
