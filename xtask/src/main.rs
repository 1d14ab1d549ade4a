//! The project's own commands: `cargo xtask <command>`.
//!
//! One module per command of daily work. The bench and the long runs are crates of their own, to which their commands are forwarded, so
//! that `cargo xtask dev` does not build them.

mod alerts;
mod api_fuzz;
mod browser;
mod ci;
mod dev;
mod dev_server;
mod digest;
mod image;
mod interop;
mod openapi;
mod packaging;
mod pg;
mod release;
mod sbom;
mod sdk;
mod test;
mod tidy;

use std::process::ExitCode;

use xtask_harness::command::{self, Action, Command};
use xtask_harness::{
    arguments, child_guard, debian, environment, failure, installation, lane, node, postgres,
    process, project, python, temporary, test_servers,
};

const INTRODUCTION: &str = "\
Commands for developing Vestry. The two to know:

  cargo xtask dev     build and start the service
  cargo xtask test    run every test

All commands:";

/// Every command, in the order of the help. To add a command, add an entry here and a module.
const COMMANDS: &[Command] = &[
    Command {
        name: "dev",
        arguments: "[ARGUMENTS OF vestry dev]…",
        about: dev::ABOUT,
        action: Action::RunWithHelp(dev::run),
    },
    Command::new(
        "test",
        "[--no-install] [-p PACKAGE]… [FILTER…]",
        test::ABOUT,
        test::run,
    ),
    Command::new("pg", "up | down", pg::ABOUT, pg::run),
    Command::new("interop", "[--no-install]", interop::ABOUT, interop::run),
    Command::new("browser", "[--no-install]", browser::ABOUT, browser::run),
    Command::new("alerts", "[--no-install]", alerts::ABOUT, alerts::run),
    Command::new(
        "api-fuzz",
        "[--no-install] [--seed N]",
        api_fuzz::ABOUT,
        api_fuzz::run,
    ),
    Command::of(LAB, "fuzz", "Fuzz every parser of untrusted bytes."),
    Command::of(
        LAB,
        "attacks",
        "Run the statistical attack tests at full size (nightly).",
    ),
    Command::of(
        LAB,
        "sabotage",
        "Check that the tests detect deliberately removed defences (mutation testing).",
    ),
    Command::new("openapi", "[--check]", openapi::ABOUT, openapi::run),
    Command::new(
        "sdk",
        "[--accept | --check | --test] [--no-install]",
        sdk::ABOUT,
        sdk::run,
    ),
    Command::new(
        "tidy",
        "[--untested | prose [--write] [PATH]…]",
        tidy::ABOUT,
        tidy::run,
    ),
    Command::of(
        "xtask-bench",
        "bench",
        "Measure the service and its baselines in one run.",
    ),
    Command::of(
        LAB,
        "rotation",
        "Rotate the keys of many wallets while they sign.",
    ),
    Command::of(
        LAB,
        "scale",
        "Run the tests on Postgres behind PgBouncer, and on Citus (nightly).",
    ),
    Command::new("image", "[--to DIRECTORY] BINARY", image::ABOUT, image::run),
    Command::new(
        "packaging",
        "[--no-install] [--binary PATH]",
        packaging::ABOUT,
        packaging::run,
    ),
    Command::new("release", "[--twice]", release::ABOUT, release::run),
    Command::of(
        LAB,
        "newcomer",
        "Carry out docs/production.md on a bare Debian (nightly).",
    ),
    Command::of(
        LAB,
        "night",
        "Run everything that is too long for a change, one piece after the other.",
    ),
    Command::new("ci", "[--record]", ci::ABOUT, ci::run),
];

/// The crate of the long runs.
const LAB: &str = "xtask-lab";

fn main() -> ExitCode {
    command::main(INTRODUCTION, COMMANDS)
}
