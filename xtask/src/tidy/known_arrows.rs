//! `xtask/arrows.toml`: arrows between modules that are accepted although they break a rule.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::Finding;
use super::tree::Tree;
use crate::failure::{Context, Failure};

const PATH: &str = "xtask/arrows.toml";

#[derive(Default)]
pub(super) struct KnownArrows {
    /// `directory of a crate: module -> module`
    pub(super) circles: BTreeSet<String>,
    /// `file -> context`
    pub(super) contexts: BTreeSet<String>,
}

impl KnownArrows {
    pub(super) fn read(tree: &Tree) -> Result<Self, Failure> {
        let Some(file) = tree.find(PATH) else {
            return Ok(Self::default());
        };
        let document: Table = file.text.parse().context(PATH)?;
        let list = |name| {
            let entries = document.get(name).and_then(Value::as_array);
            let entries = entries.into_iter().flatten().filter_map(Value::as_str);
            entries.map(str::to_owned)
        };
        let exceptions = document.get("exceptions").and_then(Value::as_table);
        Ok(Self {
            circles: list("circles").collect(),
            contexts: list("contexts")
                .chain(exceptions.into_iter().flat_map(Table::keys).cloned())
                .collect(),
        })
    }

    /// Entries whose arrow is gone, so that the lists only shrink.
    pub(super) fn stale(entries: &BTreeSet<String>, needed: &BTreeSet<String>) -> Vec<Finding> {
        let stale = entries.difference(needed);
        stale
            .map(|entry| Finding::new(PATH, format!("remove the outdated entry `{entry}`")))
            .collect()
    }
}
