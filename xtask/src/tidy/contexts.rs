//! The contexts of `app`, and which of them may use which.

use std::collections::BTreeSet;

use super::Finding;
use super::known_arrows::KnownArrows;
use super::modules::{Modules, Number};

const APP: &str = "crates/app/src";

/// `context: contexts that it may use`. Each is a module directly below [`APP`].
const CONTEXTS: &[(&str, &[&str])] = &[
    ("kernel", &[]),
    ("audit", &["kernel"]),
    ("delivery", &["kernel"]),
    ("wallets", &["kernel", "audit", "delivery"]),
    // Users have a default wallet, and take their wallets with them when they are deleted.
    ("identity", &["kernel", "audit", "delivery", "wallets"]),
    // Disabling an App ends the sessions of its users.
    ("platform", &["kernel", "identity", "audit", "delivery"]),
    (
        "operators",
        &["kernel", "identity", "platform", "audit", "delivery"],
    ),
    (
        "recovery",
        &[
            "kernel",
            "identity",
            "wallets",
            "audit",
            "delivery",
            "platform",
            "operators",
        ],
    ),
    // The outermost layer: it checks again what permitted the first call.
    ("idempotency", &["kernel", "identity", "wallets"]),
];

/// Every arrow that the table does not allow, once for each file and context.
pub(super) fn check(crates: &[Modules<'_>], known: &KnownArrows) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = BTreeSet::new();
    let app = crates.iter().filter(|modules| modules.directory() == APP);
    for modules in app {
        for arrow in modules.arrows() {
            let (Some(from), Some(to)) = (modules.top(arrow.from), modules.top(arrow.to)) else {
                continue;
            };
            let name = format!("{} -> {to}", arrow.file.path);
            if !allows(from, to) && found.insert(name.clone()) && !known.contexts.contains(&name) {
                findings.push(Finding::at(
                    &arrow.file.path,
                    arrow.line,
                    format!("{from} may not use {to}: the table is in xtask/src/tidy/contexts.rs"),
                ));
            }
        }
    }
    findings.extend(KnownArrows::stale(&known.contexts, &found));
    findings
}

/// Whether an arrow between two modules is up to the table.
pub(super) fn have_a_rule(modules: &Modules<'_>, from: Number, to: Number) -> bool {
    let is_context = |module| {
        CONTEXTS
            .iter()
            .any(|(name, _)| modules.path(module) == *name)
    };
    modules.directory() == APP && is_context(from) && is_context(to)
}

fn allows(from: &str, to: &str) -> bool {
    let allowed = CONTEXTS.iter().find(|(name, _)| *name == from);
    let is_context = CONTEXTS.iter().any(|(name, _)| *name == to);
    let rule = allowed.filter(|_| is_context && from != to);
    rule.is_none_or(|(_, allowed)| allowed.contains(&to))
}

#[cfg(test)]
mod tests;
