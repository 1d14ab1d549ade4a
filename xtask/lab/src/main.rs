//! Long runs of `cargo xtask` against the service, mostly nightly. `cargo xtask` forwards their commands to this program.

mod attacks;
mod fuzz;
mod newcomer;
mod night;
mod pgbouncer;
mod rotation;
mod sabotage;
mod scale;

use std::process::ExitCode;

use xtask_harness::command::{self, Command};

const COMMANDS: &[Command] = &[
    Command::new(
        "attacks",
        "[--timing] [--claims] [--races] [--events] [--samples N] [--histories N] [--rounds N] [--no-install]",
        attacks::ABOUT,
        attacks::run,
    ),
    Command::new("fuzz", "[TARGET]… [--seconds N]", fuzz::ABOUT, fuzz::run),
    Command::new(
        "newcomer",
        "[--release DIR] [--no-install]",
        newcomer::ABOUT,
        newcomer::run,
    ),
    Command::new("night", "[--list] [NAME]…", night::ABOUT, night::run),
    Command::new(
        "rotation",
        "[--wallets N] [--per-second N] [--store NAME] [--start-time] [--no-install]",
        rotation::ABOUT,
        rotation::run,
    ),
    Command::new(
        "sabotage",
        "[NAME]… [--no-install]",
        sabotage::ABOUT,
        sabotage::run,
    ),
    Command::new(
        "scale",
        "[--pgbouncer] [--citus] [--cluster] [--servers DIR] [--no-install] [FILTER]…",
        scale::ABOUT,
        scale::run,
    ),
];

fn main() -> ExitCode {
    command::main("Long runs against the service:", COMMANDS)
}
