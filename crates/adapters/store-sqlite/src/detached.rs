//! Where the blocking calls of SQLite run.

use std::any::Any;
use std::error::Error;

use diesel_async::sync_connection_wrapper::SpawnBlocking;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

/// Runs them on the runtime's threads for blocking work and lets them finish there when nobody waits any more.
///
/// diesel-async's own choice waits in `Drop` with `block_in_place`, which panics on the current-thread runtimes of
/// actix workers when a client goes away in the middle of a query.
pub struct Detached(Handle);

impl Detached {
    pub(crate) const fn on(runtime: Handle) -> Self {
        Self(runtime)
    }
}

type Outcome = Box<dyn Any + Send>;

impl SpawnBlocking for Detached {
    /// Whatever the task is, the runtime sees one type: else everything it has for a task is compiled again for each of some four
    /// hundred statements.
    fn spawn_blocking<'a, R>(
        &mut self,
        task: impl FnOnce() -> R + Send + 'static,
    ) -> BoxFuture<'a, Result<R, Box<dyn Error + Send + Sync + 'static>>>
    where
        R: Send + 'static,
    {
        let task: Box<dyn FnOnce() -> Outcome + Send> = Box::new(|| Box::new(task()));
        let running = self.0.spawn_blocking(task);
        async move {
            let outcome = running.await?.downcast::<R>();
            let outcome = outcome.map_err(|_other| "it is not what the task answered")?;
            Ok(*outcome)
        }
        .boxed()
    }

    fn get_runtime() -> Self {
        Self(Handle::current())
    }
}
