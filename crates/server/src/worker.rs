//! `vestry worker`: delivers messages and webhooks without serving requests.

use std::sync::Arc;

use vestry_limiter::MemoryLimiter;

use crate::background::{Background, Duties};
use crate::config::Settings;
use crate::failure::Failure;
use crate::signals::StopSignals;
use crate::{compose, with_runtime};

pub(crate) fn run(settings: &Settings) -> Result<(), Failure> {
    with_runtime(async |runtime| {
        let mut stop = StopSignals::listen()?;
        let store = compose::store(&settings.database).await?;
        // A worker answers no requests, so it has nothing to rate-limit and issues no tokens.
        let limiter = Arc::new(MemoryLimiter::new());
        let service =
            compose::service(settings, store, limiter, Vec::new(), None, runtime.clone())?;
        let background = Background::start(&service, &runtime, Duties::OF_WORKER);
        tracing::info!(pid = std::process::id(), "worker ready");
        let signal = stop.next().await;
        tracing::info!(signal, "stopping");
        tokio::spawn(stop.next_one_ends_the_process());
        background.finish(settings.http.shutdown_timeout).await;
        tracing::info!("stopped");
        Ok(())
    })
}
