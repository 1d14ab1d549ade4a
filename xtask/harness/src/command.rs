//! The commands of a binary: their dispatch, their help and their exit codes.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::project;

/// A command of `cargo xtask`.
pub struct Command {
    /// The first argument.
    pub name: &'static str,
    /// The other arguments, as the help shows them.
    pub arguments: &'static str,
    /// The help text: the first line is for the list, the rest for `cargo xtask help <command>`.
    pub about: &'static str,
    /// What runs it.
    pub action: Action,
}

/// What runs a command.
pub enum Action {
    /// A function, which gets the arguments after the name.
    Run(fn(&[String]) -> Result<(), Failure>),
    /// The same, for a command that handles `--help` itself.
    RunWithHelp(fn(&[String]) -> Result<(), Failure>),
    /// A package of this workspace with a command of the same name.
    Forward(&'static str),
}

impl Command {
    /// A command of this binary.
    pub const fn new(
        name: &'static str,
        arguments: &'static str,
        about: &'static str,
        run: fn(&[String]) -> Result<(), Failure>,
    ) -> Self {
        Self {
            name,
            arguments,
            about,
            action: Action::Run(run),
        }
    }

    /// A command of another package, which has the rest of its help.
    pub const fn of(package: &'static str, name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            arguments: "",
            about,
            action: Action::Forward(package),
        }
    }

    fn run(&self, arguments: &[String]) -> Result<(), Failure> {
        match self.action {
            Action::Run(_) if arguments.iter().any(is_help) => {
                println!(
                    "cargo xtask {} {}\n\n{}",
                    self.name, self.arguments, self.about
                );
                Ok(())
            }
            Action::Run(run) | Action::RunWithHelp(run) => run(arguments),
            Action::Forward(package) => {
                let run = ["run", "--quiet", "--package", package, "--", self.name];
                project::become_cargo(&run, arguments)
            }
        }
    }
}

fn is_help(argument: &String) -> bool {
    argument == "--help" || argument == "-h"
}

/// Runs the command named by the arguments of this process.
///
/// `introduction` is shown above the list of commands.
pub fn main(introduction: &str, commands: &[Command]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(introduction, commands, &arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            eprintln!("{message}\n\n{}", overview(introduction, commands));
            ExitCode::from(2)
        }
        Err(Failure::Failed(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(introduction: &str, commands: &[Command], arguments: &[String]) -> Result<(), Failure> {
    let help = ["--help".to_owned()];
    let (name, rest) = match arguments {
        [help_word, name, ..] if help_word == "help" => (name, &help[..]),
        [name, rest @ ..] if name != "help" && !is_help(name) => (name, rest),
        _ => {
            println!("{}", overview(introduction, commands));
            return Ok(());
        }
    };
    let command = commands.iter().find(|command| command.name == name);
    let command = command.ok_or_else(|| Failure::Usage(format!("Unknown command `{name}`.")))?;
    command.run(rest)
}

fn overview(introduction: &str, commands: &[Command]) -> String {
    let mut text = format!("{introduction}\n\n");
    for command in commands {
        let first = command.about.lines().next().unwrap_or_default();
        text.push_str(&format!("  {:<9} {first}\n", command.name));
    }
    text.push_str("\nRun `cargo xtask help <command>` for details.");
    text
}
