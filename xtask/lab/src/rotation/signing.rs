//! A client that signs with wallets at a fixed rate, by the program `vestry-bench-load`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::Server;

/// The running client, ended on drop.
pub(super) struct Signing {
    child: Child,
    /// Each line requests the results since the previous one; the end of the input ends the client.
    requests: Option<ChildStdin>,
    results: BufReader<ChildStdout>,
}

/// The results of signatures over some time, with latencies in milliseconds.
#[derive(Debug, PartialEq)]
pub(super) struct SignatureStats {
    /// Responses with a valid signature.
    pub(super) verified: u64,
    pub(super) failed: u64,
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) longest: f64,
}

impl Signing {
    /// Starts the client, which alternates between the services. `list` is the file with the wallets.
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
        let requests = child.stdin.take();
        let results = child.stdout.take();
        let results = results.ok_or_else(|| Failure::new("the client has no standard output"))?;
        Ok(Self {
            child,
            requests,
            results: BufReader::new(results),
        })
    }

    /// Fails if the client has exited.
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

    /// The results since the last call.
    pub(super) fn so_far(&mut self) -> Result<SignatureStats, Failure> {
        let requests = self.requests.as_mut();
        let requests = requests.ok_or_else(|| Failure::new("the client has no standard input"))?;
        writeln!(requests).context("cannot requests for the signatures")?;
        self.next()
    }

    /// What there was since the last time, the results included that are waited for.
    pub(super) fn stop(mut self) -> Result<SignatureStats, Failure> {
        self.requests = None;
        self.next()
    }

    fn next(&mut self) -> Result<SignatureStats, Failure> {
        let mut line = String::new();
        self.results
            .read_line(&mut line)
            .context("cannot read about the signatures")?;
        parse(&line).ok_or_else(|| Failure::new(format!("the client printed {line:?}")))
    }
}

impl Drop for Signing {
    fn drop(&mut self) {
        // The end of its input ends it.
        self.requests = None;
        drop(self.child.wait());
    }
}

fn parse(line: &str) -> Option<SignatureStats> {
    let fields: Vec<_> = line.trim_end().split('\t').collect();
    let [verified, failed, p50, p99, longest] = fields.as_slice() else {
        return None;
    };
    Some(SignatureStats {
        verified: verified.parse().ok()?,
        failed: failed.parse().ok()?,
        p50: p50.parse().ok()?,
        p99: p99.parse().ok()?,
        longest: longest.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::{SignatureStats, parse};

    #[test]
    fn only_lines_with_all_figures_are_parsed() {
        let expected = SignatureStats {
            verified: 4_000,
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
