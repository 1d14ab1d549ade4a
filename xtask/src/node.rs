//! Node environments with packages from npm: the reference implementations that check ours, and the peers of the bench.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Failure};
use crate::lane::Missing;
use crate::{debian, process, project};

/// What to say where there is no Node and none may be installed.
pub(crate) const MISSING: Missing = Missing {
    lanes: &["interop"],
    remedy: "apt-get install nodejs npm (Node 20 or later)",
};

/// What an environment is made of.
const PACKAGES: &[&str] = &["package.json", "package-lock.json"];

/// Scripts and the packages that they import.
pub(crate) struct Scripts {
    /// Where they and `package-lock.json` lie, from the root.
    directory: &'static str,
    /// Where they run, below `target`.
    home: &'static str,
    /// What the folder in the cache is called.
    cached: &'static str,
    names: &'static [&'static str],
}

/// The reference implementations.
pub(crate) const INTEROP: Scripts = Scripts {
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

/// The services of others that are measured beside ours.
pub(crate) const PEERS: Scripts = Scripts {
    directory: "xtask/peers",
    home: "peers",
    cached: "peers",
    names: &["better_auth.mjs"],
};

/// Scripts below `target`, and beside them exactly the packages of their `package-lock.json`, which are kept for the next checkout.
pub(crate) struct Node {
    home: PathBuf,
}

impl Node {
    /// Makes the environment, or finds it as it must be; installs Node when there is none, it is allowed and wanted.
    pub(crate) fn prepare(scripts: &Scripts, install: bool) -> Result<Option<Self>, Failure> {
        if !is_there() && install && debian::can_install() {
            debian::install(&["nodejs", "npm"])?;
        }
        if !is_there() {
            return Ok(None);
        }
        let from = project::root().join(scripts.directory);
        let wanted = fs::read_to_string(from.join("package-lock.json"))
            .context("cannot read package-lock.json")?;
        let packages = project::cached(scripts.cached, &wanted);
        // Written last, so that an environment that was cut short is made again.
        let complete = packages.join("complete");
        if !complete.exists() {
            make(&from, &packages)?;
            fs::write(&complete, "").context(format!("cannot write {}", complete.display()))?;
        }
        let home = project::target().join(scripts.home);
        fs::create_dir_all(&home).context(format!("cannot create {}", home.display()))?;
        let link = home.join("node_modules");
        // Node looks for packages beside the script that names them.
        if fs::read_link(&link).is_ok() {
            fs::remove_file(&link).context(format!("cannot remove {}", link.display()))?;
        }
        symlink(packages.join("node_modules"), &link)
            .context(format!("cannot create {}", link.display()))?;
        copy(scripts.names, &from, &home)?;
        // The scripts say from it which versions they ran.
        copy(PACKAGES, &from, &home)?;
        Ok(Some(Self { home }))
    }

    /// Where the scripts lie, beside the packages that they import.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }
}

/// Makes an environment from nothing; no package runs a script of its own on the way.
fn make(from: &Path, home: &Path) -> Result<(), Failure> {
    eprintln!("xtask: making the Node environment {}", home.display());
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
