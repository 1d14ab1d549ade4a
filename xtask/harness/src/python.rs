//! A Python environment with the reference implementations.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Failure};
use crate::lane::Missing;
use crate::{debian, process, project};

/// Reported if Python is missing and must not be installed.
pub const MISSING: Missing = Missing {
    lanes: &["smtp", "identity", "interop", "browser", "api-fuzz", "sdk"],
    remedy: "apt-get install python3 python3-venv (3.10 or later)",
};

/// The requirement lists: the checks of the whole service, and the servers that a crate's tests use.
const REQUIREMENTS: &[&str] = &[
    "xtask/interop/requirements.txt",
    "crates/adapters/mail-smtp/tests/requirements.txt",
    "crates/domain/tests/it/phone_reference/requirements.txt",
];

/// The generators and checkers of the client libraries.
const SDK: &[&str] = &["sdk/tools/requirements.txt"];

/// The third-party services of the benchmark.
const PEERS: &[&str] = &["xtask/bench/peers/allauth/requirements.txt"];

/// An environment with exactly the packages of a list, cached for the next checkout.
pub struct Python {
    programs: PathBuf,
}

impl Python {
    /// The environment of the checks.
    pub fn prepare(install: bool) -> Result<Option<Self>, Failure> {
        Self::with(REQUIREMENTS, install)
    }

    /// The environment of the third-party services.
    pub fn of_peers(install: bool) -> Result<Option<Self>, Failure> {
        Self::with(PEERS, install)
    }

    /// The environment of the generators and checkers of the client libraries.
    pub fn of_sdk(install: bool) -> Result<Option<Self>, Failure> {
        Self::with(SDK, install)
    }

    /// Creates an environment or reuses a complete one. Installs Python if it is missing and installing is allowed.
    fn with(requirements: &[&str], install: bool) -> Result<Option<Self>, Failure> {
        let find = || has_venv().then_some(());
        if debian::find_or_install(find, install, &["python3", "python3-venv"])?.is_none() {
            return Ok(None);
        }
        let files: Vec<PathBuf> = requirements
            .iter()
            .map(|path| project::root().join(path))
            .collect();
        let wanted = files.iter().map(read).collect::<Result<String, _>>()?;
        let home = project::cached("python", &wanted);
        // Written last, so that an interrupted environment is created again.
        let complete = home.join("complete");
        if fs::read_to_string(&complete).ok().as_ref() != Some(&wanted) {
            make(&home, &files)?;
            fs::write(&complete, &wanted)
                .context(format!("cannot write {}", complete.display()))?;
        }
        Ok(Some(Self {
            programs: home.join("bin"),
        }))
    }

    /// The interpreter.
    pub fn interpreter(&self) -> PathBuf {
        self.programs.join("python")
    }

    /// A script of `xtask/interop`, to be run in the root of the repository.
    pub fn script(&self, name: &str) -> Command {
        let mut command = self.program("python");
        command.arg(scripts().join(name));
        command
    }

    /// A program of the environment, to be run in the root of the repository.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command
            .current_dir(project::root())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONUTF8", "1");
        command
    }
}

/// The directory of the scripts and their settings.
pub fn scripts() -> PathBuf {
    project::root().join("xtask/interop")
}

/// Creates an environment from scratch.
fn make(home: &Path, requirements: &[PathBuf]) -> Result<(), Failure> {
    eprintln!("xtask: creating the Python environment {}", home.display());
    fs::create_dir_all(home).context(format!("cannot create {}", home.display()))?;
    process::run_quietly(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(home),
    )?;
    let mut pip = Command::new(home.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ]);
    for file in requirements {
        pip.arg("-r").arg(file);
    }
    process::run_quietly(&mut pip)
}

fn read(file: &PathBuf) -> Result<String, Failure> {
    fs::read_to_string(file).context(format!("cannot read {}", file.display()))
}

/// Debian ships `venv` without `ensurepip`, which it needs, in a separate package.
fn has_venv() -> bool {
    process::succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"]))
}
