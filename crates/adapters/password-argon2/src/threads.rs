//! The threads that hash, and the line in front of them.
//!
//! They are threads of their own, and not those on which the database works, for three reasons: there are never more of them
//! than hashes may run; each keeps the memory it hashes with; and on Linux they run at a lower priority, so that a flood of
//! sign-ins does not slow down the rest of the service (P-7, attack 22).

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use vestry_ports::passwords::HasherError;

use crate::compute::Memory;
use crate::settings::{Settings, SettingsError};

/// How long a caller waits at most, in line and while its hash is computed.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// A thread without work gives its memory back after so long.
const KEEPS_MEMORY: Duration = Duration::from_secs(5);
/// How much the threads stand back (`nice`).
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

type Job = Box<dyn FnOnce(&mut Memory) + Send>;

#[derive(Default)]
struct Line {
    jobs: VecDeque<Job>,
    is_closed: bool,
    /// How many were turned away since the line was last empty.
    turned_away: u64,
}

impl Line {
    /// Whether nobody more may wait. Whoever hears so goes away: it is counted, and told once until the line is empty
    /// again, because a caller can bring it about as often as it likes.
    fn turns_away(&mut self, most_waiting: usize) -> bool {
        if self.jobs.len() < most_waiting {
            return false;
        }
        if self.turned_away == 0 {
            tracing::warn!("as many passwords wait to be hashed as may; others are turned away");
        }
        self.turned_away = self.turned_away.saturating_add(1);
        true
    }

    fn next(&mut self) -> Option<Job> {
        let job = self.jobs.pop_front()?;
        if self.jobs.is_empty() && self.turned_away > 0 {
            let turned_away = std::mem::take(&mut self.turned_away);
            tracing::warn!(turned_away, "the passwords that waited are hashed");
        }
        Some(job)
    }
}

struct Shared {
    line: Mutex<Line>,
    bell: Condvar,
}

impl Shared {
    /// Also after a panic: a line is whole between any two statements.
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The threads; they end when this is dropped.
pub(crate) struct Threads {
    shared: Arc<Shared>,
    most_waiting: usize,
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
        };
        let kib = usize::try_from(settings.memory_kib).unwrap_or(usize::MAX);
        for number in 0..settings.threads.get() {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name(format!("password-{number}"));
            thread.spawn(move || work(&shared, Memory::of(kib)))?;
        }
        Ok(threads)
    }

    /// Runs a job on one of the threads. When the caller stops waiting, a job that has begun still runs to its end on its
    /// thread, and one that has not begun is passed over.
    ///
    /// # Errors
    /// [`HasherError::Busy`]: the line is full, or did not move for [`LONGEST_WAIT`].
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Memory) -> T + Send + 'static,
    ) -> Result<T, HasherError> {
        let (answer, answered) = oneshot::channel();
        let job = move |memory: &mut Memory| {
            if !answer.is_closed() {
                // Nobody may be there any more; that is their business.
                let _ = answer.send(job(memory));
            }
        };
        self.queue(Box::new(job))?;
        match tokio::time::timeout(LONGEST_WAIT, answered).await {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(_gone)) => Err(HasherError::Failed("a hashing thread")),
            Err(_elapsed) => Err(HasherError::Busy),
        }
    }

    /// Whether a job would find a place in line now.
    pub(crate) fn have_room(&self) -> bool {
        !self.shared.line().turns_away(self.most_waiting)
    }

    fn queue(&self, job: Job) -> Result<(), HasherError> {
        let mut line = self.shared.line();
        if line.turns_away(self.most_waiting) {
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
        // A job that panics takes its answer with it; the thread goes on.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(&mut memory)));
        if outcome.is_err() {
            tracing::error!("hashing a password panicked");
            memory.release();
        }
    }
}

/// The next job; `None` when the threads shall end.
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
    // Without a process id it is the calling thread. Where it is not allowed, all are equal.
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "hashing threads run at the priority of the others");
    }
}

#[cfg(not(target_os = "linux"))]
const fn stand_back() {}
