//! `cargo xtask ci`: the checks that every change must pass.

mod build_times;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::dev_server::Built;
use crate::failure::Failure;
use crate::{environment, openapi, process, project, test, tidy};
use build_times::Seconds;

pub(crate) const ABOUT: &str = "\
Run everything that a change must pass, cheapest steps first.

Runs fmt, tidy, clippy, the test build, the tests with every lane, the API description and the docs. It stops at the
first step that fails, prints the time of each and, after each build, its slowest crates next to those in build-times.toml.
`.ci/run` runs this command without the docs, and lints while it builds. Set CI=true to make a missing lane a failure. Checks
that take too long for every change are listed as nightly commands in CONTRIBUTING.md.

--without-docs  do not build the docs
--record        rewrite build-times.toml, after a build from an empty target directory on an idle machine";

/// A step: its name and function. Builds record the compile time of each crate.
type Step = (&'static str, fn(&mut Builds) -> Result<(), Failure>);

/// The compile times of each build.
type Builds = BTreeMap<&'static str, Seconds>;

/// The compiler with clippy's lints.
const LINTER: &str = "clippy-driver";

/// The steps in order, quick checks first.
const STEPS: &[Step] = &[
    ("fmt", |_| {
        cargo(&["fmt", "--all", "--check"])?;
        cargo(&["fmt", "--manifest-path", "xtask/fuzz/Cargo.toml", "--check"])
    }),
    ("tidy", |_| tidy::run(&[])),
    ("clippy", |builds| {
        if environment::variable("RUSTC_WORKSPACE_WRAPPER").is_some_and(|it| it == LINTER) {
            println!("the build lints, because RUSTC_WORKSPACE_WRAPPER is {LINTER}");
            return Ok(());
        }
        let all = ["clippy", "--workspace", "--all-targets", "--timings"];
        let strict = ["--", "-D", "warnings"];
        timed("clippy", builds, &all, &strict)
    }),
    ("build", |builds| {
        let all = ["test", "--workspace", "--no-run", "--timings"];
        timed("build", builds, &all, &[])
    }),
    ("test", |_| test::run(&[])),
    ("openapi", |_| openapi::check(Built::WithTests)),
    (DOCS, |_| docs()),
];

/// The step that can be left out.
const DOCS: &str = "docs";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("ci", arguments);
    let [is_record, has_docs] = [
        arguments.flag("--record"),
        !arguments.flag("--without-docs"),
    ];
    arguments.end()?;
    let start = Instant::now();
    let (mut done, mut builds) = (Vec::new(), Builds::new());
    let mut failure = None;
    for (name, step) in STEPS.iter().filter(|(name, _)| has_docs || *name != DOCS) {
        println!("\n=== {name}");
        let begun = Instant::now();
        let outcome = step(&mut builds);
        done.push((*name, begun.elapsed(), outcome.is_ok()));
        if outcome.is_err() {
            failure = outcome.err();
            break;
        }
    }
    summarize(&done, start.elapsed());
    if is_record && failure.is_none() {
        build_times::record(&builds)?;
    }
    failure.map_or(Ok(()), Err)
}

fn summarize(done: &[(&str, Duration, bool)], whole: Duration) {
    println!();
    for (name, _) in STEPS {
        match done.iter().find(|(ran, _, _)| ran == name) {
            Some((_, time, ok)) => println!(
                "{name:<10} {:>8.1} s  {}",
                time.as_secs_f64(),
                if *ok { "ok" } else { "FAILED" }
            ),
            None => println!("{name:<10} {:>8}    not run", "-"),
        }
    }
    println!("{:<10} {:>8.1} s", "all", whole.as_secs_f64());
}

/// Runs a compiling cargo command, and records the time of each crate.
fn timed(
    build: &'static str,
    builds: &mut Builds,
    arguments: &[&str],
    rest: &[&str],
) -> Result<(), Failure> {
    let flags = [project::LIGHT, "--locked"];
    process::run(project::cargo().args(arguments).args(flags).args(rest))?;
    let seconds = build_times::of_last_build()?;
    build_times::compare(build, &seconds)?;
    builds.insert(build, seconds);
    Ok(())
}

fn docs() -> Result<(), Failure> {
    process::run(
        project::cargo()
            .args([
                "doc",
                "--workspace",
                "--no-deps",
                "--document-private-items",
                project::LIGHT,
                "--locked",
                "--quiet",
            ])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}

fn cargo(arguments: &[&str]) -> Result<(), Failure> {
    process::run(project::cargo().args(arguments))
}
