//! Wallets that sign while something else happens, by the program `vestry-bench-load`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::failure::{Context, Failure};
use crate::site::Server;

/// The client that asks for signatures; it ends with this value.
pub(super) struct Signing {
    child: Child,
    /// A line asks what there was since the last one; the end ends it.
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// The results of signatures over some time, in milliseconds.
#[derive(Debug, PartialEq)]
pub(super) struct Answered {
    /// Answered, and verified.
    pub(super) right: u64,
    pub(super) failed: u64,
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) longest: f64,
}

impl Signing {
    /// Starts the client on all services in turn. `list` is the file that names the wallets.
    pub(super) fn start(
        program: &Path,
        servers: &[Server],
        key: &str,
        list: &Path,
        per_second: u32,
    ) -> Result<Self, Failure> {
        let services: Vec<_> = servers.iter().map(|one| one.base_url.as_str()).collect();
        let mut command = Command::new(program);
        command
            .args(["signing", "--services", &services.join(",")])
            .args(["--key", key])
            .args(["--per-second", &per_second.to_string()])
            .arg("--wallets")
            .arg(list)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the signatures")?;
        let ask = child.stdin.take();
        let answers = child.stdout.take();
        let answers = answers.ok_or_else(|| Failure::new("the client has no standard output"))?;
        Ok(Self {
            child,
            ask,
            answers: BufReader::new(answers),
        })
    }

    /// A failure when it has ended by itself.
    pub(super) fn is_alive(&mut self) -> Result<(), Failure> {
        match self
            .child
            .try_wait()
            .context("cannot watch the signatures")?
        {
            None => Ok(()),
            Some(status) => Err(Failure::new(format!("the signatures ended with {status}"))),
        }
    }

    /// What there was since the last time.
    pub(super) fn so_far(&mut self) -> Result<Answered, Failure> {
        let ask = self.ask.as_mut();
        let ask = ask.ok_or_else(|| Failure::new("the client has no standard input"))?;
        writeln!(ask).context("cannot ask for the signatures")?;
        self.next()
    }

    /// What there was since the last time, the answers included that are waited for.
    pub(super) fn stop(mut self) -> Result<Answered, Failure> {
        self.ask = None;
        self.next()
    }

    fn next(&mut self) -> Result<Answered, Failure> {
        let mut line = String::new();
        self.answers
            .read_line(&mut line)
            .context("cannot read about the signatures")?;
        parse(&line).ok_or_else(|| Failure::new(format!("the client printed {line:?}")))
    }
}

impl Drop for Signing {
    fn drop(&mut self) {
        // It ends by itself when its input does, and may have done so.
        self.ask = None;
        drop(self.child.wait());
    }
}

fn parse(line: &str) -> Option<Answered> {
    let fields: Vec<_> = line.trim_end().split('\t').collect();
    let [right, failed, p50, p99, longest] = fields.as_slice() else {
        return None;
    };
    Some(Answered {
        right: right.parse().ok()?,
        failed: failed.parse().ok()?,
        p50: p50.parse().ok()?,
        p99: p99.parse().ok()?,
        longest: longest.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Answered, parse};

    #[test]
    fn a_line_of_figures_is_read_and_nothing_else() {
        let expected = Answered {
            right: 4_000,
            failed: 1,
            p50: 2.5,
            p99: 11.25,
            longest: 300.0,
        };
        assert_eq!(parse("4000\t1\t2.500\t11.250\t300.000\n"), Some(expected));
        for odd in ["", "4000", "1\t2\t3\t4\tx", "1\t2\t3\t4\t5\t6"] {
            assert_eq!(parse(odd), None, "{odd:?}");
        }
    }
}
