//! The threads for SQLite's blocking calls.

use std::any::Any;
use std::error::Error;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;

use diesel_async::sync_connection_wrapper::SpawnBlocking;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

/// Maximum number of threads, over all stores of this process. When the disk hangs, each abandoned read occupies its thread until the disk
/// responds, and the next read gets a new connection.
const MAX_RUNNING: usize = 512;
static RUNNING: AtomicUsize = AtomicUsize::new(0);

type Job = Box<dyn FnOnce() + Send>;
type Outcome = Box<dyn Any + Send>;
type Refused = Box<dyn Error + Send + Sync>;

/// The thread of one connection. It starts with the first call, ends with the connection, and finishes a call even if its caller is gone.
///
/// diesel-async's default is the runtime's blocking pool, which has two drawbacks. It waits in `Drop` with `block_in_place`, which panics
/// on the current-thread runtimes of actix workers when a client disconnects during a query. The runtime also starts a thread whenever none
/// is free, and wakes the one that has slept longest, so that none is ever idle long enough to end. On a busy machine, five connections
/// grew to 72 threads in 80 minutes, each with memory of its own in the allocator's caches.
pub struct OwnThread {
    name: &'static str,
    jobs: Option<Sender<Job>>,
}

impl OwnThread {
    /// Creates a thread with this name, at most 15 bytes.
    pub(crate) const fn named(name: &'static str) -> Self {
        Self { name, jobs: None }
    }

    fn jobs(&mut self) -> io::Result<&Sender<Job>> {
        let jobs = match self.jobs.take() {
            Some(jobs) => jobs,
            None => start(self.name)?,
        };
        Ok(self.jobs.insert(jobs))
    }

    /// The thread sees one type for all tasks: otherwise all this would be compiled again for each of some four hundred statements.
    fn begin(
        &mut self,
        task: Box<dyn FnOnce() -> Outcome + Send>,
    ) -> io::Result<oneshot::Receiver<Outcome>> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move || {
            // The caller may be gone.
            let _unheard = answer.send(task());
        });
        let sent = self.jobs()?.send(job);
        sent.map_err(|_gone| io::Error::other("the connection's thread has ended"))?;
        Ok(answered)
    }
}

/// A running thread.
struct Running;

impl Running {
    fn begin() -> io::Result<Self> {
        let running = Self;
        if RUNNING.fetch_add(1, Ordering::Relaxed) < MAX_RUNNING {
            return Ok(running);
        }
        Err(io::Error::other(
            "too many threads are waiting for the database file",
        ))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

fn start(name: &str) -> io::Result<Sender<Job>> {
    let running = Running::begin()?;
    let (jobs, to_do) = channel();
    let thread = Builder::new().name(name.to_owned());
    thread.spawn(move || work(to_do, running))?;
    Ok(jobs)
}

/// Runs jobs one at a time until all senders are gone. A job that panics sends no result; the thread carries on.
fn work(to_do: Receiver<Job>, _running: Running) {
    for job in to_do {
        let _panicked = catch_unwind(AssertUnwindSafe(job));
    }
}

impl SpawnBlocking for OwnThread {
    fn spawn_blocking<'a, R>(
        &mut self,
        task: impl FnOnce() -> R + Send + 'static,
    ) -> BoxFuture<'a, Result<R, Refused>>
    where
        R: Send + 'static,
    {
        let begun = self.begin(Box::new(|| Box::new(task())));
        async move {
            let outcome = begun?.await?.downcast::<R>();
            let outcome = outcome.map_err(|_other| "unexpected result type")?;
            Ok(*outcome)
        }
        .boxed()
    }

    fn get_runtime() -> Self {
        Self::named("sqlite")
    }
}
