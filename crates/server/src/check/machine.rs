//! What the machine allows the process.

use std::path::Path;

use rustix::fs::statvfs;
use rustix::process::{Resource, getrlimit};
use vestry_domain::timestamp::Seconds;
use vestry_store_sql::Database;

use super::Finding;
use crate::config::{Settings, VaultSettings};
use crate::failure::Failure;

/// Maximum difference between two clocks, in seconds. Codes of authenticator apps live for 30.
const MAX_SKEW: u64 = 2;
/// The limit of open files below which a busy process runs out of them.
const MIN_FILES: u64 = 65_536;
/// Percentage of a file system from which it counts as full.
const ALMOST_FULL: u64 = 90;

/// Checks clock, limits and disks.
pub(super) fn check(settings: &Settings, skew: Option<Seconds>) -> Finding {
    let mut warnings = Vec::new();
    if let Some(limit) = getrlimit(Resource::Nofile)
        .current
        .filter(|most| *most < MIN_FILES)
    {
        warnings.push(format!(
            "open-file limit is {limit}; set LimitNOFILE={MIN_FILES}"
        ));
    }
    if getrlimit(Resource::Memlock).current.is_some() && !is_privileged() {
        warnings.push(
            "memory cannot be locked, so keys can reach swap; set LimitMEMLOCK=infinity".to_owned(),
        );
    }
    warnings.extend(full_disks(settings));
    Finding::with_warnings("machine", clocks(skew), warnings)
}

fn clocks(skew: Option<Seconds>) -> Result<String, Failure> {
    let Some(skew) = skew else {
        return Ok("clock, limits and disks are fine".to_owned());
    };
    let difference = skew.0.unsigned_abs();
    if difference > MAX_SKEW {
        return Err(Failure::new(format!(
            "clock differs from the database by {difference} s; codes and tokens will be rejected; synchronise both"
        )));
    }
    Ok("clock agrees with the database; limits and disks are fine".to_owned())
}

/// A warning for each file system with the database or a root key that is almost full.
fn full_disks(settings: &Settings) -> Vec<String> {
    let mut directories = Vec::new();
    if let Database::Sqlite(file) = &settings.database.database {
        directories.extend(file.parent());
    }
    if let VaultSettings::Local(files) = &settings.vault {
        directories.extend(files.root.parent());
    }
    directories.dedup();
    let warnings = directories.into_iter().filter_map(|directory| {
        let directory = match directory.as_os_str().is_empty() {
            true => Path::new("."),
            false => directory,
        };
        let percent = used_percent(directory)?;
        (percent >= ALMOST_FULL).then(|| {
            let directory = directory.display();
            format!("disk of {directory} is {percent} % full; writes fail when it is full")
        })
    });
    warnings.collect()
}

/// How much of a file system is used, of what its user may use.
fn used_percent(directory: &Path) -> Option<u64> {
    let system = statvfs(directory).ok()?;
    let used = system.f_blocks.checked_sub(system.f_bfree)?;
    let usable = used.checked_add(system.f_bavail)?;
    used.checked_mul(100)?.checked_div(usable)
}

/// Whether memory can be locked in spite of the limit.
#[cfg(target_os = "linux")]
fn is_privileged() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK))
}

/// On other systems, swap encryption is up to the system.
#[cfg(not(target_os = "linux"))]
fn is_privileged() -> bool {
    true
}
