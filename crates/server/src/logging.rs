//! Logs to stderr: JSON lines in production, readable text in development.
//!
//! Lines go through two queues to threads that write them, so a blocked stderr delays no request (PR-4). A full queue drops
//! lines and counts them. Only the checkpoints of the audit log's `log` sink are written at once: they must not be dropped.

mod lines;

use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::writer::MakeWriterExt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry, fmt, registry, reload};

use self::lines::JsonLines;
use crate::config::{LogFormat, LogSettings};

/// The prefix of our own crates.
const OURS: &str = "vestry";
/// Maximum number of waiting lines of `info` and below.
const MAX_USUAL: usize = 65_536;
/// Maximum number of waiting lines of `warn` and `error`.
const MAX_URGENT: usize = 4_096;
/// Time limit for the lines that wait at the end.
const FLUSH_WITHIN: Duration = Duration::from_millis(1_100);
/// Interval between looks at the numbers of dropped lines.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The queues of this process.
static QUEUES: OnceLock<Queues> = OnceLock::new();

/// Which lines are shown.
static SHOWN: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// Two queues of lines, and the threads that write them.
struct Queues {
    usual: NonBlocking,
    urgent: NonBlocking,
    /// Dropping a guard writes what waits, for one second at most, and ends its thread.
    guards: Mutex<Vec<WorkerGuard>>,
}

impl Queues {
    fn start(
        max_usual: usize,
        max_urgent: usize,
        output: impl Fn() -> Box<dyn Write + Send>,
    ) -> Self {
        let queue = |name, most| {
            let builder = NonBlockingBuilder::default().lossy(true).thread_name(name);
            builder.buffered_lines_limit(most).finish(output())
        };
        let (usual, first) = queue("log", max_usual);
        let (urgent, second) = queue("log-urgent", max_urgent);
        Self {
            usual,
            urgent,
            guards: Mutex::new(vec![first, second]),
        }
    }

    /// Writes what waits, for one second at most. Later lines are dropped.
    fn flush(&self) {
        let guards = {
            let mut guards = self.guards.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *guards)
        };
        // A guard may block for longer if stdout is the same blocked pipe.
        let (done, each) = mpsc::channel();
        let count = guards.len();
        for guard in guards {
            let done = done.clone();
            thread::spawn(move || {
                drop(guard);
                // The other side no longer waits.
                let _unheard = done.send(());
            });
        }
        let end = Instant::now() + FLUSH_WITHIN;
        for _ in 0..count {
            let left = end.saturating_duration_since(Instant::now());
            if each.recv_timeout(left).is_err() {
                return;
            }
        }
    }
}

/// Starts logging. Later calls do nothing.
///
/// The configured level applies to our own crates. Others log at most warnings. At finer levels, drivers log statement parameters and
/// request heads, which must not be in a log (OTP-9).
pub(crate) fn start(settings: &LogSettings) {
    let queues =
        QUEUES.get_or_init(|| Queues::start(MAX_USUAL, MAX_URGENT, || Box::new(io::stderr())));
    let (shown, handle) = reload::Layer::new(shown_at(settings.level));
    let urgent = queues.urgent.clone().with_max_level(Level::WARN);
    let queued = urgent.or_else(queues.usual.clone());
    let at_once =
        io::stderr.with_filter(|line| line.target() == vestry_checkpoint_sinks::LOG_TARGET);
    let output = at_once.or_else(queued);
    let layer = match settings.format {
        LogFormat::Json => JsonLines::new(output).boxed(),
        LogFormat::Pretty => fmt::layer()
            .with_writer(output)
            .compact()
            .with_ansi(io::stderr().is_terminal())
            .boxed(),
    };
    let subscriber = registry().with(layer.with_filter(shown));
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        let _is_first = SHOWN.set(handle);
    }
}

/// Replaces the level (PR-89).
pub(crate) fn set_level(level: LevelFilter) {
    if let Some(handle) = SHOWN.get() {
        // It fails only once the subscriber is gone, which lives as long as the process.
        let _replaced = handle.reload(shown_at(level));
    }
}

/// The lines that are shown at a level.
fn shown_at(level: LevelFilter) -> Targets {
    Targets::new()
        .with_default(LevelFilter::WARN.min(level))
        .with_target(OURS, level)
}

/// Writes the lines that wait, for one second at most. The process must end afterwards: later lines are dropped.
pub(crate) fn flush() {
    if let Some(queues) = QUEUES.get() {
        queues.flush();
    }
}

/// Runs something that writes to stderr, and waits for a second at most: it may be blocked.
pub(crate) fn unless_blocked(write: impl FnOnce() + Send + 'static) {
    let (done, written) = mpsc::channel();
    thread::spawn(move || {
        write();
        // The other side no longer waits.
        let _unheard = done.send(());
    });
    let _blocked = written.recv_timeout(FLUSH_WITHIN);
}

/// Writes the lines that wait when it is dropped, even by a panic.
pub(crate) struct FlushAtEnd;

impl Drop for FlushAtEnd {
    fn drop(&mut self) {
        flush();
    }
}

/// The lines that this process has dropped so far: those of `info` and below, and those of `warn` and `error`.
pub(crate) fn dropped() -> [u64; 2] {
    let count = |counter: ErrorCounter| u64::try_from(counter.dropped_lines()).unwrap_or(u64::MAX);
    QUEUES.get().map_or([0, 0], |queues| {
        [&queues.usual, &queues.urgent].map(|queue| count(queue.error_counter()))
    })
}

/// Logs how many lines were dropped, each time that no more of them are. Runs until the runtime ends.
pub(crate) fn report_dropped(runtime: &Handle) {
    runtime.spawn(async {
        let mut drops = Drops::default();
        let mut look = tokio::time::interval(LOOK_EVERY);
        loop {
            look.tick().await;
            if let Some(count) = drops.after_a_look(dropped().iter().sum()) {
                tracing::warn!("{count} log lines were dropped");
            }
        }
    });
}

/// Numbers of dropped lines.
#[derive(Default)]
struct Drops {
    seen: u64,
    reported: u64,
}

impl Drops {
    /// Returns how many lines to report, once no more were dropped since the look before.
    fn after_a_look(&mut self, dropped: u64) -> Option<u64> {
        let is_over = std::mem::replace(&mut self.seen, dropped) == dropped;
        let count = dropped - self.reported;
        (is_over && count > 0).then(|| {
            self.reported = dropped;
            count
        })
    }
}

/// Logs a panic with its location only. Its message may contain a value that was being processed.
pub(crate) fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic: &PanicHookInfo<'_>| {
        let place = panic.location().map_or_else(
            || "unknown location".to_owned(),
            |location| format!("{}:{}", location.file(), location.line()),
        );
        if tracing::dispatcher::has_been_set() {
            tracing::error!(place, "panic");
        } else {
            eprintln!("vestry: panic at {place}");
        }
    }));
}

#[cfg(test)]
mod tests;
