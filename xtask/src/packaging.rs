//! `cargo xtask packaging`: checks of the release and of the files in `deploy`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::arguments::Arguments;
use crate::dev_server::{self, Built};
use crate::failure::{Context, Failure};
use crate::image::{Image, Packages};
use crate::lane::Missing;
use crate::postgres::{Durability, Postgres};
use crate::python::{self, Python};
use crate::release::{self, Size};
use crate::{debian, process, project, temporary};

pub(crate) const ABOUT: &str = "\
Check the files of a release and those of deploy/, with the binary of the tests.

  release      two images of one binary are identical; sums and bill of materials are right
  image        it runs under `crun` with a read-only root, no capabilities and 256 MB, and serves a user until SIGTERM
  compose      the command lines of Vestry in compose.yaml run, and both replicas serve one deployment
  kubernetes   kubernetes-validate accepts kubernetes.yaml; its command lines and variables start the binary
  systemd      systemd-analyze accepts the units; the command lines run with the credentials that it passes
  completions  bash, zsh and fish accept their scripts

--binary PATH  check this binary instead of building one
--no-install   install nothing with apt-get";

/// Reported if a program is missing and must not be installed.
const MISSING: Missing = Missing {
    lanes: &["packaging"],
    remedy: "as root on Debian, apt-get install crun fish systemd zsh",
};

/// The programs and their packages.
const PROGRAMS: [(&str, &str); 4] = [
    ("crun", "crun"),
    ("fish", "fish"),
    ("systemd-analyze", "systemd"),
    ("zsh", "zsh"),
];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("packaging", arguments);
    let install = arguments.install();
    let binary = arguments.value("--binary")?;
    arguments.end()?;
    let Some(python) = Python::prepare(install)? else {
        return python::MISSING.announce();
    };
    let binary = match binary {
        Some(binary) => PathBuf::from(binary),
        None => dev_server::build(Built::Alone)?,
    };
    check(&python, &binary, install)
}

/// Checks the release of a binary.
pub(crate) fn check(python: &Python, binary: &Path, install: bool) -> Result<(), Failure> {
    let is_there = |(program, _): &(&str, _)| process::find(program).is_some();
    let find = || PROGRAMS.iter().all(is_there).then_some(());
    let packages = PROGRAMS.map(|(_, package)| package);
    let found = debian::find_or_install(find, install, &packages)?;
    // Containers, and files that belong to other users, are root's alone to make.
    if found.is_none() || !debian::is_root() {
        return MISSING.announce();
    }
    let directory = Directory(temporary::directory("release")?);
    let release = write(binary, install, &directory.0)?;
    let postgres = Postgres::require(install)?.start(Durability::Disk)?;
    let mut script = python.script("deployment.py");
    script
        .env("VESTRY_RELEASE", &release)
        .env("VESTRY_TEST_POSTGRES_URL", postgres.url());
    let outcome = process::run_beside_others(&mut script);
    postgres.stop()?;
    outcome
}

/// Writes a release, compares its image with a second one (PR-39), and returns its directory.
fn write(binary: &Path, install: bool, below: &Path) -> Result<PathBuf, Failure> {
    let packages = match Packages::of(binary) {
        // Lists of packages grow old, and no package may be installed yet that needed newer ones.
        Err(_old) if install => {
            debian::refresh_lists()?;
            Packages::of(binary)?
        }
        other => other?,
    };
    let directory = below.join("one");
    let release = release::assemble(&project::root(), binary, &packages, &directory, Size::Any)?;
    // From a copy of the binary, with another path and time.
    let other = below.join("other");
    let again = Image::write(&packages, &directory.join("vestry"), &other)?;
    if again.digest != release.image.digest {
        return Err(Failure::new("two images of one binary differ"));
    }
    fs::remove_dir_all(&other).context(format!("cannot remove {}", other.display()))?;
    Ok(directory)
}

/// A directory that is deleted on drop.
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        // What cannot be removed is left to the cleaning of /tmp.
        drop(fs::remove_dir_all(&self.0));
    }
}
