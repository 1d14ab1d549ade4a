//! `cargo xtask fuzz`: fuzzing of every parser of untrusted bytes.

mod report;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use report::Report;
use xtask_harness::arguments::Arguments;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::{process, project};

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

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let known = targets()?;
    let mut arguments = Arguments::new("fuzz", arguments);
    if arguments.flag("--list") {
        known.iter().for_each(|target| println!("{target}"));
        return arguments.end();
    }
    let seconds = arguments.value("--seconds")?.map(|text| text.parse());
    let Ok(seconds) = seconds.unwrap_or(Ok(180)) else {
        return Err(arguments.wrong("`--seconds` needs a number"));
    };
    let mut targets = arguments.words()?;
    if let Some(other) = targets.iter().find(|target| !known.contains(target)) {
        let known = known.join(", ");
        return Err(Failure::Usage(format!(
            "Unknown target `{other}`; available: {known}."
        )));
    }
    if targets.is_empty() {
        targets = known;
    }
    let built = build(&targets)?;
    let mut found = Vec::new();
    for target in &targets {
        let report = run_one(target, &built, seconds)?;
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

/// The targets, by name: the files in `targets`.
fn targets() -> Result<Vec<String>, Failure> {
    let directory = project::root().join(HOME).join("targets");
    let doing = || format!("cannot list {}", directory.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&directory).context(doing())? {
        let path = entry.context(doing())?.path();
        names.extend(
            path.file_stem()
                .map(|name| name.to_string_lossy().into_owned()),
        );
    }
    names.sort_unstable();
    Ok(names)
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
    let triple = project::host()?;
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
