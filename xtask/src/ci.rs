//! `cargo xtask ci`: what must hold before a change goes in.

use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::server::Built;
use crate::{openapi, process, project, test, tidy};

pub(crate) const ABOUT: &str = "\
Run everything a change must pass, cheap steps first.

fmt, tidy, clippy, test with every lane, the API description, docs. It stops at the first step that fails and
prints the time of each. `.ci/run` is this command and nothing else; set CI=true to make a missing lane a failure.";

/// A step: its name and what it does.
type Step = (&'static str, fn() -> Result<(), Failure>);

/// In this order, so that what is quick to find is found first.
const STEPS: &[Step] = &[
    ("fmt", || {
        cargo(&["fmt", "--all", "--check"])?;
        cargo(&["fmt", "--manifest-path", "xtask/fuzz/Cargo.toml", "--check"])
    }),
    ("tidy", || tidy::run(&[])),
    ("clippy", || {
        cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ])
    }),
    ("test", || test::run(&[])),
    ("openapi", || openapi::check(Built::WithTests)),
    ("doc", doc),
];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if !arguments.is_empty() {
        return Err(Failure::Usage("`ci` takes no arguments.".to_owned()));
    }
    let start = Instant::now();
    let mut done = Vec::new();
    let mut failure = None;
    for (name, step) in STEPS {
        println!("\n=== {name}");
        let begun = Instant::now();
        let outcome = step();
        done.push((*name, begun.elapsed(), outcome.is_ok()));
        if outcome.is_err() {
            failure = outcome.err();
            break;
        }
    }
    summarize(&done, start.elapsed());
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

fn doc() -> Result<(), Failure> {
    process::run(
        project::cargo()
            .args([
                "doc",
                "--workspace",
                "--no-deps",
                "--document-private-items",
                "--locked",
                "--quiet",
            ])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}

fn cargo(arguments: &[&str]) -> Result<(), Failure> {
    process::run(project::cargo().args(arguments))
}
