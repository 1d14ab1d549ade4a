//! The background tasks of a process: message and webhook delivery, retention, event sequencing, audit checkpoints, and the counts of
//! refused requests and of activity.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use vestry_app::Service;

use crate::config::Settings;

/// Time limit for the last write of activity counts.
const LAST_WRITE: Duration = Duration::from_secs(2);

/// The background tasks of this process.
pub(crate) struct Background {
    service: Arc<Service>,
    runtime: Handle,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

/// Optional tasks of a process, in addition to those that every process runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Duties {
    /// Deliver messages.
    pub(crate) messages: bool,
    /// Deliver webhooks.
    pub(crate) webhooks: bool,
    /// Create audit checkpoints.
    pub(crate) checkpoints: bool,
}

impl Duties {
    /// The tasks of `vestry worker`. Checkpoints identify the deployment by its public URL, which a worker does not need.
    pub(crate) const OF_WORKER: Self = Self {
        messages: true,
        webhooks: true,
        checkpoints: false,
    };

    /// The tasks of a process that serves requests.
    pub(crate) const fn of(settings: &Settings) -> Self {
        Self {
            messages: settings.outbox.worker,
            webhooks: settings.webhooks.worker,
            checkpoints: true,
        }
    }
}

impl Background {
    /// Starts the tasks that every process runs and those of `duties`, on the service's runtime.
    pub(crate) fn start(service: &Arc<Service>, runtime: &Handle, duties: Duties) -> Self {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        if duties.webhooks {
            let (service, stopped) = (Arc::clone(service), until(stopped.clone()));
            tasks.spawn_on(async move { service.run_webhooks(stopped).await }, runtime);
        }
        if duties.messages {
            let (service, stopped) = (Arc::clone(service), until(stopped.clone()));
            tasks.spawn_on(async move { service.run_outbox(stopped).await }, runtime);
        }
        if duties.checkpoints {
            let (service, stopped) = (Arc::clone(service), until(stopped.clone()));
            tasks.spawn_on(
                async move { service.run_checkpoints(stopped).await },
                runtime,
            );
        }
        let (sweeper, sweeps) = (Arc::clone(service), until(stopped.clone()));
        tasks.spawn_on(async move { sweeper.run_sweeper(sweeps).await }, runtime);
        let (refused, counted) = (Arc::clone(service), until(stopped.clone()));
        tasks.spawn_on(async move { refused.run_refusals(counted).await }, runtime);
        let (outbox, counted) = (Arc::clone(service), until(stopped.clone()));
        tasks.spawn_on(
            async move { outbox.run_outbox_counts(counted).await },
            runtime,
        );
        let (counting, counted) = (Arc::clone(service), until(stopped.clone()));
        tasks.spawn_on(async move { counting.run_activity(counted).await }, runtime);
        let (measuring, measured) = (Arc::clone(service), until(stopped.clone()));
        tasks.spawn_on(
            async move { measuring.run_measurements(measured).await },
            runtime,
        );
        let (sequencer, sequences) = (Arc::clone(service), until(stopped));
        tasks.spawn_on(
            async move { sequencer.run_sequencer(sequences).await },
            runtime,
        );
        Self {
            service: Arc::clone(service),
            runtime: runtime.clone(),
            stop,
            tasks,
        }
    }

    /// Stops the tasks, waiting at most `at_most` for them to finish their current work. A message interrupted here is sent again by
    /// another worker when its lease ends.
    pub(crate) async fn stop(self, at_most: Duration) -> LastWrite {
        let Self {
            service,
            runtime,
            stop,
            tasks,
        } = self;
        // Sending fails if every task has ended already.
        let _ended = stop.send(true);
        if tokio::time::timeout(at_most, tasks.join_all())
            .await
            .is_err()
        {
            tracing::warn!("background task did not finish in time; aborted");
        }
        LastWrite { service, runtime }
    }
}

/// What is left once tasks and requests have ended.
pub(crate) struct LastWrite {
    service: Arc<Service>,
    runtime: Handle,
}

impl LastWrite {
    /// Writes the activity that was counted until now.
    pub(crate) async fn finish(self) {
        let Self { service, runtime } = self;
        let last = runtime.spawn(async move { service.write_activity().await });
        if tokio::time::timeout(LAST_WRITE, last).await.is_err() {
            tracing::warn!("activity counts were not written in time; dropped");
        }
    }
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // An error means that the process is shutting down, which also stops the task.
    let _torn_down = stopped.wait_for(|stop| *stop).await;
}
