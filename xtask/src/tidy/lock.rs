//! What a lock file holds: every crate with its versions, those of features and systems that are off too.

use std::collections::{BTreeMap, BTreeSet};

use semver::Version;
use toml::{Table, Value};

use super::tree::File;
use crate::failure::{Context, Failure};

/// The lock file of the workspace, and that of the fuzz targets, which are a workspace of their own.
pub(super) const LOCKS: &[&str] = &["Cargo.lock", "xtask/fuzz/Cargo.lock"];

/// The versions of each crate, by its name.
pub(super) struct Lock {
    pub(super) versions: BTreeMap<String, BTreeSet<Version>>,
}

impl Lock {
    pub(super) fn read(file: &File) -> Result<Self, Failure> {
        let document: Table = file.text.parse().context(&file.path)?;
        let packages = document.get("package").and_then(Value::as_array);
        let mut versions: BTreeMap<String, BTreeSet<Version>> = BTreeMap::new();
        for package in packages.into_iter().flatten() {
            let text = |field: &str| {
                let value = package.get(field).and_then(Value::as_str);
                value.ok_or_else(|| {
                    Failure::new(format!("{}: a package without {field}", file.path))
                })
            };
            let version = Version::parse(text("version")?).context(&file.path)?;
            versions
                .entry(text("name")?.to_owned())
                .or_default()
                .insert(version);
        }
        Ok(Self { versions })
    }
}
