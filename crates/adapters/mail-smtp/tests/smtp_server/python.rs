//! The Python interpreter that runs the server.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const REQUIREMENTS: &str = include_str!("../requirements.txt");

const HOW: &str = "the SMTP tests need Python 3.10 or later with the packages of \
    crates/adapters/mail-smtp/tests/requirements.txt: run `cargo xtask test`, or install python3 and python3-venv, or \
    point VESTRY_TEST_PYTHON to an interpreter that has them; to leave these tests out, name the lane: \
    VESTRY_TEST_LANES_MISSING=smtp";

/// Returns the interpreter: the one in `VESTRY_TEST_PYTHON`, or one in an environment under `target` that is created on demand. `None` if
/// the lane is left out.
///
/// # Panics
/// There is none and none can be created.
pub(crate) fn interpreter() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(find).as_deref()
}

fn find() -> Option<PathBuf> {
    if let Some(python) = variable("VESTRY_TEST_PYTHON") {
        return Some(python.into());
    }
    let missing = variable("VESTRY_TEST_LANES_MISSING").unwrap_or_default();
    if missing.split(',').any(|lane| lane.trim() == "smtp") {
        eprintln!("left out: the lane `smtp` is in VESTRY_TEST_LANES_MISSING");
        return None;
    }
    Some(prepared().unwrap_or_else(|why| panic!("{why}\n{HOW}")))
}

#[expect(clippy::disallowed_methods, reason = "location of the test servers")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Creates the environment, once for all concurrent test programs.
fn prepared() -> Result<PathBuf, String> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    fs::create_dir_all(&home).map_err(|cause| format!("{}: {cause}", home.display()))?;
    let lock = File::create(home.join("lock")).map_err(|cause| format!("no lock: {cause}"))?;
    lock.lock().map_err(|cause| format!("no lock: {cause}"))?;
    let environment = home.join("venv");
    let python = environment.join("bin/python");
    // Written last, so that an incomplete environment is created again.
    let complete = environment.join("complete");
    if fs::read_to_string(&complete).is_ok_and(|done| done == REQUIREMENTS) {
        return Ok(python);
    }
    let requirements = home.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS).map_err(|cause| format!("no requirements: {cause}"))?;
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&environment))?;
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--no-input"])
        .args(["--disable-pip-version-check", "-r"])
        .arg(&requirements))?;
    fs::write(&complete, REQUIREMENTS).map_err(|cause| format!("not marked: {cause}"))?;
    Ok(python)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|cause| format!("{:?} does not start: {cause}", command.get_program()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?} failed:\n{}", said.trim_end()))
}
