//! Where the blocking calls of SQLite run.

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

impl SpawnBlocking for Detached {
    fn spawn_blocking<'a, R>(
        &mut self,
        task: impl FnOnce() -> R + Send + 'static,
    ) -> BoxFuture<'a, Result<R, Box<dyn Error + Send + Sync + 'static>>>
    where
        R: Send + 'static,
    {
        let running = self.0.spawn_blocking(task);
        async move { running.await.map_err(Box::from) }.boxed()
    }

    fn get_runtime() -> Self {
        Self(Handle::current())
    }
}
