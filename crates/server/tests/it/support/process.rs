//! A running `vestry`, observed line by line.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::poll::until;

/// Much longer than anything here takes. A test that exceeds it has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The stream of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// A process that is killed on drop.
pub(crate) struct Process {
    child: Child,
    lines: UnboundedReceiver<(Stream, String)>,
    seen: Arc<Mutex<Vec<(Stream, String)>>>,
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (send, lines) = unbounded_channel();
        let seen = Arc::default();
        watch(Stream::Stdout, child.stdout.take().unwrap(), &send, &seen);
        watch(Stream::Stderr, child.stderr.take().unwrap(), &send, &seen);
        Self { child, lines, seen }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line for which `find` returns a value. `None` if the process ended before it came.
    pub(crate) async fn find<T>(
        &mut self,
        mut find: impl FnMut(Stream, &str) -> Option<T>,
    ) -> Option<T> {
        tokio::time::timeout(PATIENCE, async {
            loop {
                let (stream, line) = self.lines.recv().await?;
                if let Some(found) = find(stream, &line) {
                    return Some(found);
                }
            }
        })
        .await
        .expect("the line came in time")
    }

    /// The fields of the next JSON log line with this message.
    pub(crate) async fn logged(&mut self, message: &str) -> Value {
        let found = self
            .find(|stream, line| {
                let line = (stream == Stream::Stderr).then_some(line)?;
                let event: Value = serde_json::from_str(line).ok()?;
                (event["message"] == message).then_some(event)
            })
            .await;
        found.unwrap_or_else(|| panic!("{message:?} was never logged; output:\n{}", self.output()))
    }

    /// Waits for a text in the output. Warnings and errors have a queue of their own, so they can come after later lines.
    pub(crate) async fn shows(&self, text: &str) {
        let shown = until(async || self.output().contains(text));
        let shown = tokio::time::timeout(PATIENCE, shown).await;
        shown.unwrap_or_else(|_late| panic!("{text:?} is not in the output:\n{}", self.output()));
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits for the process to end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        // Both pipes close when the process ends.
        let end = self.find(|_, _| None::<()>).await;
        assert!(end.is_none());
        self.child.wait().unwrap()
    }

    /// `kill -9`, like a power failure.
    pub(crate) async fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.ended().await;
    }

    /// Stops it, expects a graceful end, and returns all output.
    pub(crate) async fn stop(mut self) -> String {
        self.signal(Signal::TERM);
        let status = self.ended().await;
        assert_eq!(status.code(), Some(0), "output:\n{}", self.output());
        self.output()
    }

    /// All output so far.
    pub(crate) fn output(&self) -> String {
        let seen = self.seen.lock().unwrap();
        let lines = seen.iter().map(|(_, line)| format!("{line}\n"));
        lines.collect()
    }

    /// All output so far on one stream.
    pub(crate) fn output_of(&self, wanted: Stream) -> String {
        let seen = self.seen.lock().unwrap();
        let lines = seen.iter().filter(|(stream, _)| *stream == wanted);
        lines.map(|(_, line)| format!("{line}\n")).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended on its own.
        let _ended = self.child.kill();
        let _status = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- process {} output:\n{}", self.child.id(), self.output());
        }
    }
}

fn watch(
    stream: Stream,
    pipe: impl Read + Send + 'static,
    send: &UnboundedSender<(Stream, String)>,
    seen: &Arc<Mutex<Vec<(Stream, String)>>>,
) {
    let (send, seen) = (send.clone(), Arc::clone(seen));
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            seen.lock().unwrap().push((stream, line.clone()));
            // The receiver of the lines may be gone.
            let _unread = send.send((stream, line));
        }
    });
}
