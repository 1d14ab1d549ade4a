//! Tasks that run beside the listeners: delivering, sending events, sweeping, giving events their places, making checkpoints, and writing
//! down how many calls were refused.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use vestry_app::Service;

use crate::config::Settings;

/// The tasks of this process.
pub(crate) struct Background {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

/// What a process does besides what every one does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Duties {
    /// Delivering messages.
    pub(crate) messages: bool,
    /// Sending events.
    pub(crate) webhooks: bool,
    /// Making checkpoints of the audit log.
    pub(crate) checkpoints: bool,
}

impl Duties {
    /// Those of `vestry worker`. Checkpoints name the deployment by its public URL, and a worker needs none.
    pub(crate) const OF_WORKER: Self = Self {
        messages: true,
        webhooks: true,
        checkpoints: false,
    };

    /// Those of a process that answers requests.
    pub(crate) const fn of(settings: &Settings) -> Self {
        Self {
            messages: settings.outbox.worker,
            webhooks: settings.webhooks.worker,
            checkpoints: true,
        }
    }
}

impl Background {
    /// Starts the sweeper, the sequencer of events, the count of refusals and what else is to be done, on the service's runtime.
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
        let (service, stopped) = (Arc::clone(service), until(stopped));
        tasks.spawn_on(async move { service.run_sequencer(stopped).await }, runtime);
        Self { stop, tasks }
    }

    /// Lets each task finish what it holds, for so long at most. A message that is cut off here is sent again by
    /// another worker when its lease ends.
    pub(crate) async fn finish(self, at_most: Duration) {
        let Self { stop, tasks } = self;
        // Nobody listens when every task has ended already.
        let _ended = stop.send(true);
        if tokio::time::timeout(at_most, tasks.join_all())
            .await
            .is_err()
        {
            tracing::warn!("a background task did not finish in time and was cut off");
        }
    }
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // An error means that the process is being torn down, which is a stop too.
    let _torn_down = stopped.wait_for(|stop| *stop).await;
}
