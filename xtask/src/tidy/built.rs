//! The crates that the product is built from on this platform. The lock file has more, for disabled features.

use std::collections::{BTreeMap, BTreeSet};

use crate::failure::Failure;
use crate::{process, project};

/// The versions of each crate, by its name.
pub(super) struct Built {
    pub(super) versions: BTreeMap<String, BTreeSet<String>>,
}

impl Built {
    pub(super) fn read() -> Result<Self, Failure> {
        let arguments = [
            "tree",
            "--package",
            "vestry-server",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p}",
            "--locked",
        ];
        let listing = process::output(project::cargo().args(arguments))?;
        Ok(Self::listed(&listing))
    }

    /// Reads lines such as `tokio v1.48.0 (proc-macro)`.
    pub(super) fn listed(listing: &str) -> Self {
        let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for line in listing.lines() {
            if let Some((name, rest)) = line.split_once(" v") {
                let version = rest.split(' ').next().unwrap_or(rest);
                versions
                    .entry(name.to_owned())
                    .or_default()
                    .insert(version.to_owned());
            }
        }
        Self { versions }
    }
}
