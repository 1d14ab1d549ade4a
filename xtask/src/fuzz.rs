//! `cargo xtask fuzz`: fuzzing of every parser of untrusted bytes.

mod report;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use toml::{Table, Value};

use crate::failure::{Context, Failure};
use crate::{process, project};
use report::Report;

pub(crate) const ABOUT: &str = "\
Fuzz every parser of untrusted bytes.

Builds the targets of xtask/fuzz with cargo-fuzz (installed into target/tools if missing) and runs each with libFuzzer, starting
from its seeds and the inputs that earlier runs kept in target/fuzz/corpus. Prints one line for each target:
`fuzz TARGET: runs=… seconds=… slowest=…s findings=…`. A finding is a panic, an input that takes half a minute, or more than
512 MiB of memory. It fails the command, and its input is kept under target/fuzz/findings. To reproduce it, run
target/fuzz/<platform>/release/TARGET with that input as its argument.

TARGET…        run only these targets
--seconds N    how long each target runs (default 180); 0 only replays the seeds and the kept inputs
--list         print the names of the targets";

/// The directory of the targets, relative to the root.
const HOME: &str = "xtask/fuzz";
/// The version that is installed.
const CARGO_FUZZ: &str = "0.13.2";
/// The maximum input length in bytes. Tests prove that longer input is rejected for its length.
const MAX_LENGTH: usize = 8192;
/// The number of seconds after which an input counts as a hang. It is generous because the machine may be busy; the actual time is printed.
const HANGS_AFTER: u32 = 30;
/// The memory limit of a target, in MiB (B10).
const MEMORY: u32 = 512;

/// The parsed command line.
struct Options {
    targets: Vec<String>,
    seconds: u32,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let known = targets()?;
    if arguments == ["--list"] {
        known.iter().for_each(|target| println!("{target}"));
        return Ok(());
    }
    let options = options(arguments, known)?;
    let built = build(&options.targets)?;
    let mut found = Vec::new();
    for target in &options.targets {
        let report = run_one(target, &built, options.seconds)?;
        println!("fuzz {target}: {report}");
        if report.findings > 0 {
            found.push(target.as_str());
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "findings in {}; inputs and output are in {}",
        found.join(", "),
        place("findings", "").display()
    )))
}

/// The targets named in the manifest.
fn targets() -> Result<Vec<String>, Failure> {
    let path = project::root().join(HOME).join("Cargo.toml");
    let text = fs::read_to_string(&path).context(format!("cannot read {}", path.display()))?;
    let manifest: Table = text.parse().context(path.display())?;
    let binaries = manifest.get("bin").and_then(Value::as_array);
    let names = binaries.into_iter().flatten();
    Ok(names
        .filter_map(|binary| binary.get("name")?.as_str().map(str::to_owned))
        .collect())
}

fn options(arguments: &[String], known: Vec<String>) -> Result<Options, Failure> {
    let mut options = Options {
        targets: Vec::new(),
        seconds: 180,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seconds" => {
                let number = arguments.next().and_then(|number| number.parse().ok());
                options.seconds = number.ok_or_else(|| {
                    Failure::Usage("`--seconds` takes a whole number.".to_owned())
                })?;
            }
            name if known.iter().any(|target| target == name) => {
                options.targets.push(name.to_owned());
            }
            other => {
                return Err(Failure::Usage(format!(
                    "Unknown target `{other}`; available: {}.",
                    known.join(", ")
                )));
            }
        }
    }
    if options.targets.is_empty() {
        options.targets = known;
    }
    Ok(options)
}

/// A target's directory below Cargo's: `corpus` or `findings`.
fn place(what: &str, target: &str) -> PathBuf {
    project::target().join("fuzz").join(what).join(target)
}

/// The path of cargo-fuzz, which is installed if missing.
fn cargo_fuzz() -> Result<PathBuf, Failure> {
    let home = project::target().join("tools");
    let program = home.join("bin/cargo-fuzz");
    let version = format!("cargo-fuzz {CARGO_FUZZ}");
    let installed = |program: &Path| {
        program.is_file()
            && process::output(Command::new(program).args(["fuzz", "--version"]))
                .is_ok_and(|said| said.trim() == version)
    };
    if !installed(&program) {
        eprintln!("xtask: installing {version}");
        let mut install = project::cargo();
        install.args(["install", "--quiet", "--locked", "--force", "--version"]);
        process::run(
            install
                .args([CARGO_FUZZ, "cargo-fuzz", "--root"])
                .arg(&home),
        )?;
    }
    Ok(program)
}

/// Builds the targets and returns the directory of the binaries.
///
/// Without a sanitizer, which the pinned compiler does not support. Sanitizers find faults of `unsafe` code, and we have none. Overflows
/// and failed assertions panic.
fn build(targets: &[String]) -> Result<PathBuf, Failure> {
    let program = cargo_fuzz()?;
    let home = project::target().join("fuzz");
    let triple = host()?;
    eprintln!("xtask: building the targets of {HOME}");
    let build = |target: Option<&str>| {
        let mut command = Command::new(&program);
        command
            .current_dir(project::root())
            .args(["fuzz", "build", "--fuzz-dir", HOME, "--sanitizer", "none"])
            .args(["--target", &triple, "--target-dir"])
            .arg(&home)
            .args(target);
        process::run(&mut command)
    };
    match targets {
        [one] => build(Some(one))?,
        _ => build(None)?,
    }
    Ok(home.join(triple).join("release"))
}

/// The host platform in the compiler's notation.
fn host() -> Result<String, Failure> {
    let version = process::output(project::cargo().args(["version", "--verbose"]))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Failure::new("cargo did not report its host platform"))
}

/// Runs one target with libFuzzer to the end.
fn run_one(target: &str, built: &Path, seconds: u32) -> Result<Report, Failure> {
    let (corpus, findings) = (place("corpus", target), place("findings", target));
    for directory in [&corpus, &findings] {
        fs::create_dir_all(directory).context(format!("cannot create {}", directory.display()))?;
    }
    let log = findings.join("log");
    let said = File::create(&log).context(format!("cannot write {}", log.display()))?;
    let begun = report::inputs(&findings)?;
    let mut command = Command::new(built.join(target));
    command
        .current_dir(project::root())
        // New inputs go to the first directory; the seeds are only read.
        .args([
            &corpus,
            &project::root().join(HOME).join("corpus").join(target),
        ])
        .arg(format!("-artifact_prefix={}/", findings.display()))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={MAX_LENGTH}"))
        .arg(format!("-timeout={HANGS_AFTER}"))
        .arg(format!("-rss_limit_mb={MEMORY}"))
        .args(["-print_final_stats=1", "-verbosity=1"])
        // Test data is generated from a seed; a fixed one makes findings reproducible.
        .env("VESTRY_TEST_SEED", "1")
        // Printing a backtrace takes seconds on a busy machine, which looks like a hang.
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said);
    if seconds == 0 {
        command.arg("-runs=0");
    }
    let status = command.status().context(format!("cannot start {target}"))?;
    let said = fs::read(&log).context(format!("cannot read {}", log.display()))?;
    let report = Report::read(&String::from_utf8_lossy(&said));
    let new = report::inputs(&findings)?.saturating_sub(begun);
    match (status.success(), new) {
        (true, _) => Ok(report),
        (false, 0) => Err(Failure::new(format!(
            "{target} ended with {status} and left no input; see {}",
            log.display()
        ))),
        (false, findings) => Ok(Report { findings, ..report }),
    }
}
