//! A Python environment with the reference implementations that check ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Failure};
use crate::lane::Missing;
use crate::{debian, process, project};

/// What to say where there is no Python and none may be installed.
pub(crate) const MISSING: Missing = Missing {
    lanes: &["smtp", "identity", "interop", "browser", "api-fuzz"],
    remedy: "apt-get install python3 python3-venv (3.10 or later)",
};

/// What is installed: the checks of the whole service, and the servers that a crate's own tests talk to.
const REQUIREMENTS: &[&str] = &[
    "xtask/interop/requirements.txt",
    "crates/adapters/mail-smtp/tests/requirements.txt",
    "crates/domain/tests/it/phone_reference/requirements.txt",
];

/// What is measured beside ours.
const PEERS: &[&str] = &["xtask/peers/allauth/requirements.txt"];

/// An environment with exactly the packages of a list, kept for the next checkout.
pub(crate) struct Python {
    programs: PathBuf,
}

impl Python {
    /// The environment of the checks.
    pub(crate) fn prepare(install: bool) -> Result<Option<Self>, Failure> {
        Self::with(REQUIREMENTS, install)
    }

    /// The environment of the services of others.
    pub(crate) fn of_peers(install: bool) -> Result<Option<Self>, Failure> {
        Self::with(PEERS, install)
    }

    /// Makes an environment, or finds it as it must be; installs Python when there is none, it is allowed and wanted.
    fn with(requirements: &[&str], install: bool) -> Result<Option<Self>, Failure> {
        if !has_venv() && install && debian::can_install() {
            debian::install(&["python3", "python3-venv"])?;
        }
        if !has_venv() {
            return Ok(None);
        }
        let files: Vec<PathBuf> = requirements
            .iter()
            .map(|path| project::root().join(path))
            .collect();
        let wanted = files.iter().map(read).collect::<Result<String, _>>()?;
        let home = project::cached("python", &wanted);
        // Written last, so that an environment that was cut short is made again.
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
    pub(crate) fn interpreter(&self) -> PathBuf {
        self.programs.join("python")
    }

    /// A script of `xtask/interop`, ready to run in the root of the repository.
    pub(crate) fn script(&self, name: &str) -> Command {
        let mut command = self.program("python");
        command.arg(scripts().join(name));
        command
    }

    /// A program of the environment, ready to run in the root of the repository.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command
            .current_dir(project::root())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONUTF8", "1");
        command
    }
}

/// Where the scripts and their settings are.
pub(crate) fn scripts() -> PathBuf {
    project::root().join("xtask/interop")
}

/// Makes an environment from nothing.
fn make(home: &Path, requirements: &[PathBuf]) -> Result<(), Failure> {
    eprintln!("xtask: making the Python environment {}", home.display());
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

/// Debian ships `venv` without `ensurepip`, which it needs, in another package.
fn has_venv() -> bool {
    process::succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"]))
}
