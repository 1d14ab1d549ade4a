//! A Node environment with the reference implementations from npm that check ours.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Failure};
use crate::lane::Missing;
use crate::{debian, process, project, python};

/// What to say where there is no Node and none may be installed.
pub(crate) const MISSING: Missing = Missing {
    lanes: &["interop"],
    remedy: "apt-get install nodejs npm (Node 20 or later)",
};

/// What the environment is made of, and the scripts that run in it.
const PACKAGES: &[&str] = &["package.json", "package-lock.json"];
const SCRIPTS: &[&str] = &[
    "bitcoin.mjs",
    "calls.mjs",
    "ethereum.mjs",
    "identity_provider.mjs",
    "key_transfer.mjs",
    "polkadot.mjs",
    "solana.mjs",
    "stellar.mjs",
];

/// The scripts in `target/interop/node`, and beside them exactly the packages of `xtask/interop/package-lock.json`, which are
/// kept for the next checkout.
pub(crate) struct Node {
    home: PathBuf,
}

impl Node {
    /// Makes the environment, or finds it as it must be; installs Node when there is none, it is allowed and wanted.
    pub(crate) fn prepare(install: bool) -> Result<Option<Self>, Failure> {
        if !is_there() && install && debian::can_install() {
            debian::install(&["nodejs", "npm"])?;
        }
        if !is_there() {
            return Ok(None);
        }
        let wanted = fs::read_to_string(python::scripts().join("package-lock.json"))
            .context("cannot read package-lock.json")?;
        let packages = project::cached("node", &wanted);
        // Written last, so that an environment that was cut short is made again.
        let complete = packages.join("complete");
        if !complete.exists() {
            make(&packages)?;
            fs::write(&complete, "").context(format!("cannot write {}", complete.display()))?;
        }
        let home = project::target().join("interop/node");
        fs::create_dir_all(&home).context(format!("cannot create {}", home.display()))?;
        let link = home.join("node_modules");
        // Node looks for packages beside the script that names them.
        if fs::read_link(&link).is_ok() {
            fs::remove_file(&link).context(format!("cannot remove {}", link.display()))?;
        }
        symlink(packages.join("node_modules"), &link)
            .context(format!("cannot create {}", link.display()))?;
        copy(SCRIPTS, &home)?;
        // The scripts say from it which versions they ran.
        copy(PACKAGES, &home)?;
        Ok(Some(Self { home }))
    }

    /// Where the scripts lie, beside the packages that they import.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }
}

/// Makes an environment from nothing; no package runs a script of its own on the way.
fn make(home: &Path) -> Result<(), Failure> {
    eprintln!("xtask: making the Node environment {}", home.display());
    fs::create_dir_all(home).context(format!("cannot create {}", home.display()))?;
    copy(PACKAGES, home)?;
    process::run_quietly(
        Command::new("npm")
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(home),
    )
}

fn copy(names: &[&str], home: &Path) -> Result<(), Failure> {
    for name in names {
        let from = python::scripts().join(name);
        fs::copy(&from, home.join(name)).context(format!("cannot copy {}", from.display()))?;
    }
    Ok(())
}

fn is_there() -> bool {
    process::succeeds(Command::new("node").arg("--version"))
        && process::succeeds(Command::new("npm").arg("--version"))
}
