//! The failed tests of a run of `cargo test`, told once more at its end: their own place is thousands of lines above it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::failure::{Context as _, Failure};

/// Lines shown of each failed test, from its panic on.
const MAX_LINES: usize = 30;

/// Runs `cargo test` with its output shown. The failure names each failed test, with the beginning of its panic.
pub(super) fn run(command: &mut Command) -> Result<(), Failure> {
    run_showing(command, &mut std::io::stdout())
}

fn run_showing(command: &mut Command, shown: &mut dyn Write) -> Result<(), Failure> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start `cargo test`")?;
    let mut failed = Failed::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.context("cannot read the output of `cargo test`")?;
            let line = String::from_utf8_lossy(&line);
            writeln!(shown, "{line}").context("cannot write to stdout")?;
            failed.read(&line);
        }
    }
    let status = child.wait().context("cannot wait for `cargo test`")?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "`cargo test` ended with {status}{}",
            failed.text()
        ))),
    }
}

/// What the harness prints of failed tests, read line by line.
#[derive(Debug, Default)]
struct Failed {
    tests: Vec<Test>,
    /// Whether the lines are output of the last test.
    is_open: bool,
}

#[derive(Debug)]
struct Test {
    name: String,
    /// Its output from the panic on.
    panic: Vec<String>,
}

impl Failed {
    fn read(&mut self, line: &str) {
        let heading = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(name) = heading {
            let (name, panic) = (name.to_owned(), Vec::new());
            self.tests.push(Test { name, panic });
            self.is_open = true;
            return;
        }
        // A list of names follows the output of the last one.
        self.is_open &= !matches!(line, "failures:" | "stack backtrace:");
        let (true, Some(test)) = (self.is_open, self.tests.last_mut()) else {
            return;
        };
        let begun = !test.panic.is_empty() || line.contains("panicked at");
        if begun && test.panic.len() < MAX_LINES {
            test.panic.push(line.to_owned());
        }
    }

    fn text(&self) -> String {
        let tests = self.tests.iter();
        tests
            .map(|test| format!("\n\nfailed: {}\n{}", test.name, test.panic.join("\n")))
            .collect()
    }
}

#[cfg(test)]
mod tests;
