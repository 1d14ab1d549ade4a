//! Running other programs to completion.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::environment;
use crate::failure::{Context, Failure};

/// Runs a program with our own standard streams. If it does not succeed, the failure names it.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    let line = line(command);
    let status = command.status().context(format!("cannot start `{line}`"))?;
    require_success(&line, status)
}

fn require_success(line: &str, status: ExitStatus) -> Result<(), Failure> {
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!("`{line}` ended with {status}"))),
    }
}

/// Runs a program and shows its output only if it fails.
pub fn run_quietly(command: &mut Command) -> Result<(), Failure> {
    output(command.stderr(Stdio::piped())).map(drop)
}

/// Runs a program and returns its standard output.
///
/// Its standard error goes to ours, unless the caller redirected it; then it is shown if the program fails.
pub fn output(command: &mut Command) -> Result<String, Failure> {
    let line = line(command);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context(format!("cannot start `{line}`"))?;
    let output = child
        .wait_with_output()
        .context(format!("cannot wait for `{line}`"))?;
    if !output.status.success() {
        let printed = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(format!(
            "`{line}` ended with {}\n{}",
            output.status,
            printed.trim_end()
        )));
    }
    String::from_utf8(output.stdout).context(format!("`{line}` printed output that is not UTF-8"))
}

/// Runs a program alongside others, and shows its output at the end, so that lines do not mix.
///
/// If it does not succeed, the failure names it.
pub fn run_beside_others(command: &mut Command) -> Result<(), Failure> {
    let line = line(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .context(format!("cannot start `{line}`"))?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    require_success(&line, output.status)
}

/// Copies a file or directory with its attributes, as `cp --archive` does.
pub fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    run_quietly(Command::new("cp").arg("--archive").arg(from).arg(to))
}

/// Whether the program ran successfully; its output is discarded.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The first directory of `PATH` that contains this program.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = environment::variable("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
}

/// The command as one line, for messages.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
