//! The project's own commands: `cargo xtask <command>`.
//!
//! One module per command and a few for what they share. Everything a machine or a person runs on this
//! repository is here, so that continuous integration and a laptop do the same thing. It stays thin in
//! dependencies, because it is compiled before anything else can start.

mod api_fuzz;
mod attacks;
mod bench;
mod browser;
mod ci;
mod debian;
mod dev;
mod environment;
mod failure;
mod fuzz;
mod interop;
mod keeper;
mod lane;
mod node;
mod openapi;
mod pg;
mod pgbouncer;
mod postgres;
mod process;
mod project;
mod python;
mod redis;
mod release;
mod rotation;
mod sabotage;
mod scale;
mod server;
mod site;
mod temporary;
mod test;
mod tidy;
mod wait;

use std::process::ExitCode;

use failure::Failure;

/// A command of `cargo xtask`.
struct Command {
    name: &'static str,
    /// Arguments as the help shows them.
    arguments: &'static str,
    /// The help text: the first line is for the list, the rest for `cargo xtask help <command>`.
    about: &'static str,
    run: fn(&[String]) -> Result<(), Failure>,
}

/// Every command, in the order of the help. To add a command, add an entry here and a module.
const COMMANDS: &[Command] = &[
    Command {
        name: "dev",
        arguments: "[ARGUMENTS OF vestry dev]…",
        about: dev::ABOUT,
        run: dev::run,
    },
    Command {
        name: "test",
        arguments: "[--no-install] [-p PACKAGE]… [FILTER…]",
        about: test::ABOUT,
        run: test::run,
    },
    Command {
        name: "pg",
        arguments: "up | down",
        about: pg::ABOUT,
        run: pg::run,
    },
    Command {
        name: "interop",
        arguments: "[--no-install]",
        about: interop::ABOUT,
        run: interop::run,
    },
    Command {
        name: "browser",
        arguments: "[--no-install]",
        about: browser::ABOUT,
        run: browser::run,
    },
    Command {
        name: "api-fuzz",
        arguments: "[--no-install] [--seed N]",
        about: api_fuzz::ABOUT,
        run: api_fuzz::run,
    },
    Command {
        name: "fuzz",
        arguments: "[TARGET]… [--seconds N]",
        about: fuzz::ABOUT,
        run: fuzz::run,
    },
    Command {
        name: "attacks",
        arguments: "[--timing] [--claims] [--races] [--samples N] [--histories N] [--rounds N] [--no-install]",
        about: attacks::ABOUT,
        run: attacks::run,
    },
    Command {
        name: "sabotage",
        arguments: "[NAME]… [--no-install]",
        about: sabotage::ABOUT,
        run: sabotage::run,
    },
    Command {
        name: "openapi",
        arguments: "[--check]",
        about: openapi::ABOUT,
        run: openapi::run,
    },
    Command {
        name: "tidy",
        arguments: "[--untested | prose [--write] [PATH]…]",
        about: tidy::ABOUT,
        run: tidy::run,
    },
    Command {
        name: "bench",
        arguments: "[--quick | --report | --operations | --search | --signing] [--store NAME] [--profile NAME] [--note TEXT]…",
        about: bench::ABOUT,
        run: bench::run,
    },
    Command {
        name: "rotation",
        arguments: "[--wallets N] [--per-second N] [--store NAME] [--start-time] [--no-install]",
        about: rotation::ABOUT,
        run: rotation::run,
    },
    Command {
        name: "scale",
        arguments: "[--pgbouncer] [--citus] [--cluster] [--servers DIR] [--no-install] [FILTER]…",
        about: scale::ABOUT,
        run: scale::run,
    },
    Command {
        name: "release",
        arguments: "[--twice]",
        about: release::ABOUT,
        run: release::run,
    },
    Command {
        name: "ci",
        arguments: "[--record]",
        about: ci::ABOUT,
        run: ci::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            eprintln!("{message}\n\n{}", overview());
            ExitCode::from(2)
        }
        Err(Failure::Failed(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), Failure> {
    let Some((name, rest)) = arguments.split_first() else {
        println!("{}", overview());
        return Ok(());
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        return help(rest);
    }
    let command = find(name)?;
    // `dev` passes its arguments on, including `--help`, because the binary has its own help.
    if command.name != "dev"
        && rest
            .iter()
            .any(|argument| argument == "--help" || argument == "-h")
    {
        println!("{}", usage(command));
        return Ok(());
    }
    (command.run)(rest)
}

fn find(name: &str) -> Result<&'static Command, Failure> {
    COMMANDS
        .iter()
        .find(|command| command.name == name)
        .ok_or_else(|| Failure::Usage(format!("Unknown command `{name}`.")))
}

fn help(arguments: &[String]) -> Result<(), Failure> {
    match arguments.first() {
        None => println!("{}", overview()),
        Some(name) => println!("{}", usage(find(name)?)),
    }
    Ok(())
}

fn usage(command: &Command) -> String {
    format!(
        "cargo xtask {} {}\n\n{}",
        command.name, command.arguments, command.about
    )
}

fn overview() -> String {
    let mut text = String::from(
        "Commands for developing Vestry. The two to know:\n\n  \
         cargo xtask dev     build and start the service\n  \
         cargo xtask test    run every test\n\nAll commands:\n\n",
    );
    for command in COMMANDS {
        let first = command.about.lines().next().unwrap_or_default();
        text.push_str(&format!("  {:<9} {first}\n", command.name));
    }
    text.push_str("\nRun `cargo xtask help <command>` for details.");
    text
}
