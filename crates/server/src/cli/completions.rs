//! `vestry completions`

use clap::{Args, ValueEnum};

use crate::failure::{Context, Failure};

/// The arguments of `vestry completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell that reads the script
    shell: Shell,
}

/// The shells with a completion script.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Completions {
    /// The script for the arguments of this command.
    pub(super) fn script(&self, mut command: clap::Command) -> Result<String, Failure> {
        let shell = match self.shell {
            Shell::Bash => clap_complete::Shell::Bash,
            Shell::Zsh => clap_complete::Shell::Zsh,
            Shell::Fish => clap_complete::Shell::Fish,
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, "vestry", &mut script);
        String::from_utf8(script).context("the completion script is not UTF-8")
    }
}
