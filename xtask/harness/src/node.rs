//! Node environments with npm packages: the reference implementations, and the peers of the benchmark.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Failure};
use crate::lane::Missing;
use crate::{debian, process, project};

/// Reported if Node is missing and must not be installed.
pub const MISSING: Missing = Missing {
    lanes: &["interop", "browser", "sdk"],
    remedy: "apt-get install nodejs npm (Node 20 or later)",
};

/// The files that define an environment.
const PACKAGES: &[&str] = &["package.json", "package-lock.json"];

/// Scripts and the packages that they import.
pub struct Scripts {
    /// The directory of the scripts and `package-lock.json`, relative to the root.
    directory: &'static str,
    /// The directory in which they run, below `target`.
    home: &'static str,
    /// The name of the directory in the cache.
    cached: &'static str,
    names: &'static [&'static str],
}

/// The reference implementations.
pub const INTEROP: Scripts = Scripts {
    directory: "xtask/interop",
    home: "interop/node",
    cached: "node",
    names: &[
        "bitcoin.mjs",
        "calls.mjs",
        "ethereum.mjs",
        "identity_provider.mjs",
        "key_transfer.mjs",
        "polkadot.mjs",
        "solana.mjs",
        "stellar.mjs",
        "webhooks.mjs",
    ],
};

/// The generators and checkers of the client libraries.
pub const SDK: Scripts = Scripts {
    directory: "sdk/tools",
    home: "sdk/node",
    cached: "sdk-node",
    names: &[],
};

/// The third-party services that are benchmarked in comparison.
pub const PEERS: Scripts = Scripts {
    directory: "xtask/bench/peers",
    home: "peers",
    cached: "peers",
    names: &["better_auth.mjs"],
};

/// Scripts below `target`, with exactly the packages of their `package-lock.json`, which are cached for the next checkout.
pub struct Node {
    home: PathBuf,
}

impl Node {
    /// Creates the environment or reuses a complete one. Installs Node if it is missing and installing is allowed.
    pub fn prepare(scripts: &Scripts, install: bool) -> Result<Option<Self>, Failure> {
        let find = || is_there().then_some(());
        if debian::find_or_install(find, install, &["nodejs", "npm"])?.is_none() {
            return Ok(None);
        }
        let from = project::root().join(scripts.directory);
        let wanted = fs::read_to_string(from.join("package-lock.json"))
            .context("cannot read package-lock.json")?;
        let packages = project::cached(scripts.cached, &wanted);
        // Written last, so that an interrupted environment is created again.
        let complete = packages.join("complete");
        if !complete.exists() {
            make(&from, &packages)?;
            fs::write(&complete, "").context(format!("cannot write {}", complete.display()))?;
        }
        let home = project::target().join(scripts.home);
        fs::create_dir_all(&home).context(format!("cannot create {}", home.display()))?;
        let link = home.join("node_modules");
        // Node looks for packages next to the importing script.
        if fs::read_link(&link).is_ok() {
            fs::remove_file(&link).context(format!("cannot remove {}", link.display()))?;
        }
        symlink(packages.join("node_modules"), &link)
            .context(format!("cannot create {}", link.display()))?;
        copy(scripts.names, &from, &home)?;
        // The scripts read from it the versions they report.
        copy(PACKAGES, &from, &home)?;
        Ok(Some(Self { home }))
    }

    /// The directory of the scripts and the packages they import.
    pub fn home(&self) -> &Path {
        &self.home
    }
}

/// Creates an environment from scratch, without running install scripts of packages.
fn make(from: &Path, home: &Path) -> Result<(), Failure> {
    eprintln!("xtask: creating the Node environment {}", home.display());
    fs::create_dir_all(home).context(format!("cannot create {}", home.display()))?;
    copy(PACKAGES, from, home)?;
    process::run_quietly(
        Command::new("npm")
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(home),
    )
}

fn copy(names: &[&str], from: &Path, home: &Path) -> Result<(), Failure> {
    for name in names {
        let from = from.join(name);
        fs::copy(&from, home.join(name)).context(format!("cannot copy {}", from.display()))?;
    }
    Ok(())
}

fn is_there() -> bool {
    process::succeeds(Command::new("node").arg("--version"))
        && process::succeeds(Command::new("npm").arg("--version"))
}
