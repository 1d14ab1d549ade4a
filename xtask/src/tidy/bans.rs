//! Crates and versions of crates that `bans.deny` of `deny.toml` refuses: those with known faults, and those that something
//! else does the work of. cargo-deny reads the same list; it is not asked, because it also wants the network.

use super::Finding;
use super::built::Built;
use super::crate_spec::{self, CrateSpec};
use super::lock::{LOCKS, Lock};
use super::tree::Tree;
use crate::failure::Failure;

pub(super) fn check(tree: &Tree, built: &Built) -> Result<Vec<Finding>, Failure> {
    let (denied, mut findings) = crate_spec::list(tree, "deny");
    for file in LOCKS.iter().filter_map(|path| tree.find(path)) {
        findings.extend(versions(&denied, &file.path, &Lock::read(file)?));
    }
    findings.extend(altogether(&denied, built));
    Ok(findings)
}

/// Versions that may not even be in the lock file: a feature that is switched on later would build them.
fn versions(denied: &[CrateSpec], path: &str, lock: &Lock) -> Vec<Finding> {
    let mut findings = Vec::new();
    for spec in denied.iter().filter(|spec| spec.versions.is_some()) {
        let there = lock.versions.get(&spec.name).into_iter().flatten();
        for version in there.filter(|version| spec.takes_in(version)) {
            let message = format!(
                "{} {version}: {} is refused ({})",
                spec.name, spec, spec.reason
            );
            findings.push(Finding::new(path, message));
        }
    }
    findings
}

/// Crates that must not be in the build of the product. Those with exceptions are in the table of arrows.
fn altogether(denied: &[CrateSpec], built: &Built) -> Vec<Finding> {
    let refused = denied
        .iter()
        .filter(|spec| spec.versions.is_none() && !spec.has_wrappers);
    refused
        .filter(|spec| built.versions.contains_key(&spec.name))
        .map(|spec| Finding::new("Cargo.lock", format!("{spec} is built: {}", spec.reason)))
        .collect()
}

#[cfg(test)]
mod tests;
