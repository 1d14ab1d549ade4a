//! The hashing threads, and the queue in front of them.
//!
//! They are separate from the threads that the database uses, for three reasons. Their number limits the hashes that run. Each keeps the
//! memory it hashes with. On Linux they run at a lower priority, so that a flood of sign-ins does not slow down the rest of the service
//! (P-7, attack 22).

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use vestry_ports::meter::{Counted, Meter, Timed};
use vestry_ports::passwords::HasherError;

use crate::compute::Memory;
use crate::settings::{Settings, SettingsError};

/// Maximum time that a caller waits, both in the queue and for its hash.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// An idle thread frees its memory after this time.
const KEEPS_MEMORY: Duration = Duration::from_secs(5);
/// The priority of the threads (`nice`).
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

type Job = Box<dyn FnOnce(&mut Memory) + Send>;

#[derive(Default)]
struct Line {
    jobs: VecDeque<Job>,
    is_closed: bool,
    /// How many were rejected since the queue was last empty.
    turned_away: u64,
}

impl Line {
    /// Whether the queue is full. If so, the caller must leave. It is counted, and logged once until the queue is empty again, because a
    /// caller can trigger this as often as it likes.
    fn turns_away(&mut self, most_waiting: usize) -> bool {
        if self.jobs.len() < most_waiting {
            return false;
        }
        if self.turned_away == 0 {
            tracing::warn!("password hashing queue is full; rejecting requests");
        }
        self.turned_away = self.turned_away.saturating_add(1);
        true
    }

    fn next(&mut self) -> Option<Job> {
        let job = self.jobs.pop_front()?;
        if self.jobs.is_empty() && self.turned_away > 0 {
            let turned_away = std::mem::take(&mut self.turned_away);
            tracing::warn!(turned_away, "password hashing queue is empty again");
        }
        Some(job)
    }
}

struct Shared {
    line: Mutex<Line>,
    bell: Condvar,
}

impl Shared {
    /// Locks the queue, even after a panic: it is consistent between any two statements.
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The threads; they end when this is dropped.
pub(crate) struct Threads {
    shared: Arc<Shared>,
    most_waiting: usize,
    /// Measures waits and refusals, once it is known.
    pub(crate) meter: Arc<OnceLock<Arc<dyn Meter>>>,
}

impl Threads {
    pub(crate) fn start(settings: Settings) -> Result<Self, SettingsError> {
        let shared = Arc::new(Shared {
            line: Mutex::default(),
            bell: Condvar::new(),
        });
        let threads = Self {
            shared: Arc::clone(&shared),
            most_waiting: settings.waiting,
            meter: Arc::default(),
        };
        let kib = usize::try_from(settings.memory_kib).unwrap_or(usize::MAX);
        for number in 0..settings.threads.get() {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name(format!("password-{number}"));
            thread.spawn(move || work(&shared, Memory::of(kib)))?;
        }
        Ok(threads)
    }

    /// Runs a job on one of the threads. If the caller stops waiting, a job that has started still runs to its end, and one that has not is
    /// skipped.
    ///
    /// # Errors
    /// [`HasherError::Busy`]: the queue is full, or did not move for [`MAX_WAIT`].
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Memory) -> T + Send + 'static,
    ) -> Result<T, HasherError> {
        let (answer, answered) = oneshot::channel();
        let (begun, meter) = (Instant::now(), Arc::clone(&self.meter));
        let job = move |memory: &mut Memory| {
            if !answer.is_closed() {
                if let Some(meter) = meter.get() {
                    meter.time(Timed::PasswordWait, begun.elapsed());
                }
                // The caller may be gone.
                let _ = answer.send(job(memory));
            }
        };
        self.queue(Box::new(job))?;
        match tokio::time::timeout(MAX_WAIT, answered).await {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(_gone)) => Err(HasherError::Failed("a hashing thread")),
            Err(_elapsed) => Err(HasherError::Busy),
        }
    }

    /// Whether the queue has room for a job now.
    pub(crate) fn have_room(&self) -> bool {
        let is_full = self.shared.line().turns_away(self.most_waiting);
        if is_full {
            self.refused();
        }
        !is_full
    }

    fn refused(&self) {
        if let Some(meter) = self.meter.get() {
            meter.count(Counted::PasswordRefused);
        }
    }

    fn queue(&self, job: Job) -> Result<(), HasherError> {
        let mut line = self.shared.line();
        if line.turns_away(self.most_waiting) {
            drop(line);
            self.refused();
            return Err(HasherError::Busy);
        }
        line.jobs.push_back(job);
        drop(line);
        self.shared.bell.notify_one();
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut line = self.shared.line();
        line.is_closed = true;
        line.jobs.clear();
        drop(line);
        self.shared.bell.notify_all();
    }
}

fn work(shared: &Shared, mut memory: Memory) {
    stand_back();
    while let Some(job) = next(shared, &mut memory) {
        // A job that panics sends no result; the thread carries on.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(&mut memory)));
        if outcome.is_err() {
            tracing::error!("password hashing panicked");
            memory.release();
        }
    }
}

/// Returns the next job; `None` if the threads should end.
fn next(shared: &Shared, memory: &mut Memory) -> Option<Job> {
    let mut line = shared.line();
    loop {
        if line.is_closed {
            return None;
        }
        if let Some(job) = line.next() {
            return Some(job);
        }
        let waited = shared.bell.wait_timeout(line, KEEPS_MEMORY);
        let (again, elapsed) = waited.unwrap_or_else(PoisonError::into_inner);
        line = again;
        if elapsed.timed_out() {
            memory.release();
        }
    }
}

#[cfg(target_os = "linux")]
fn stand_back() {
    // Without a process id it applies to the calling thread. Where that is not permitted, all threads have the same priority.
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "priority of hashing threads could not be lowered");
    }
}

#[cfg(not(target_os = "linux"))]
const fn stand_back() {}
