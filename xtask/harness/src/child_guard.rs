//! Child processes that end with this process.
//!
//! A server that a command starts must not outlive it, even if the command fails or is ended by Ctrl-C or `kill -9`. A small shell
//! therefore starts the server and waits for the end of a pipe, the other end of which is ours. Only our death or [`ChildGuard::stop`]
//! closes that pipe, because the standard library opens it close-on-exec.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::failure::{Context, Failure};
use crate::wait;

/// `sh -c SCRIPT child_guard SIGNAL PATIENCE DIRECTORY PROGRAM ARGUMENTS…`
///
/// Standard input moves to descriptor 3 so that the server does not inherit it. The watcher waits for the end
/// of the pipe, asks the server to stop, and kills it after PATIENCE seconds.
const SCRIPT: &str = r#"
signal=$1 patience=$2 directory=$3
shift 3
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
{
    read -r _ <&3
    kill -s "$signal" "$server"
    waited=0
    while [ "$waited" -lt "$patience" ]; do sleep 1; waited=$((waited + 1)); done
    kill -s KILL "$server"
} >/dev/null 2>&1 &
watcher=$!
wait "$server"
status=$?
kill "$watcher" 2>/dev/null
[ -z "$directory" ] || rm -rf -- "$directory"
exit "$status"
"#;

/// Seconds between the request to stop and the kill; the service promises to need at most 10.
const PATIENCE: &str = "20";

/// A running server and the shell that watches it.
pub struct ChildGuard {
    shell: Child,
    lifeline: Option<ChildStdin>,
}

impl ChildGuard {
    /// Starts a server whose output goes to `log`.
    ///
    /// `signal` (a name such as `TERM`) stops it, and then `remove` is deleted with all its contents.
    pub fn start(
        server: &Command,
        signal: &str,
        log: File,
        remove: Option<&Path>,
    ) -> Result<Self, Failure> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "child_guard", signal, PATIENCE]);
        command.arg(remove.unwrap_or(Path::new("")));
        command.arg(server.get_program()).args(server.get_args());
        for (name, value) in server.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = server.get_current_dir() {
            command.current_dir(directory);
        }
        let errors = log.try_clone().context("cannot share the log file")?;
        // A separate process group: Ctrl-C in the terminal reaches us, and then the pipe reaches the shell.
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(log)
            .stderr(errors);
        let mut shell = command.spawn().context("cannot start sh")?;
        let lifeline = shell.stdin.take();
        Ok(Self { shell, lifeline })
    }

    /// The watching process; the server and its children are below it.
    pub fn process_id(&self) -> u32 {
        self.shell.id()
    }

    /// How the server ended, if it did.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Failure> {
        self.shell
            .try_wait()
            .context("cannot ask for the state of a server")
    }

    /// Polls until the server is ready, and fails if it exits before. A message names the server.
    pub fn wait_until_ready<T>(
        &mut self,
        server: &str,
        limit: Duration,
        mut poll: impl FnMut() -> Option<T>,
    ) -> Result<T, Failure> {
        wait::until(&format!("the start of {server}"), limit, || {
            match self.ended()? {
                Some(status) => Err(Failure::new(format!(
                    "{server} exited with {status} during startup"
                ))),
                None => Ok(poll()),
            }
        })
    }

    /// Stops the service, which must exit with code 0. The message of a failure names its log.
    pub fn stop_cleanly(self, log: &Path) -> Result<(), Failure> {
        let status = self.stop()?;
        let log = log.display();
        match status.success() {
            true => Ok(()),
            false => Err(Failure::new(format!(
                "the service ended with {status} when asked to stop; see {log}"
            ))),
        }
    }

    /// Stops the server and returns its exit status.
    pub fn stop(mut self) -> Result<ExitStatus, Failure> {
        self.lifeline = None;
        self.shell.wait().context("cannot wait for a server")
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        self.lifeline = None;
        // There is nowhere to report a failure, and the shell ends in any case.
        drop(self.shell.wait());
    }
}

#[cfg(test)]
mod tests;
