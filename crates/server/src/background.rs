//! The background tasks of a process: message and webhook delivery, retention, event sequencing, audit checkpoints, and the counts of
//! refused requests and of activity.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use vestry_app::Service;

use crate::config::Settings;

/// Time limit for the last write of activity counts.
const LAST_WRITE: Duration = Duration::from_secs(2);

/// Time limit for the tasks that stop once no request runs.
const LAST_TASKS: Duration = Duration::from_secs(4);

/// The background tasks of this process.
pub(crate) struct Background {
    service: Arc<Service>,
    runtime: Handle,
    /// Deliveries, which can take long to end.
    deliveries: Group,
    /// Everything else, which serves requests until the last one has ended.
    others: Group,
}

/// Tasks that stop together.
struct Group {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Group {
    fn new() -> Self {
        Self {
            stop: watch::Sender::new(false),
            tasks: JoinSet::new(),
        }
    }

    /// Starts a task, which gets a future that completes when it is to stop.
    fn start<F>(&mut self, runtime: &Handle, task: impl FnOnce(Stopped) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stopped: Stopped = Box::pin(until(self.stop.subscribe()));
        self.tasks.spawn_on(task(stopped), runtime);
    }

    /// Starts a task once the database may be used.
    fn start_when_open<F>(
        &mut self,
        runtime: &Handle,
        service: &Arc<Service>,
        task: impl FnOnce(Arc<Service>, Stopped) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let waits = Arc::clone(service);
        let gives_up = until(self.stop.subscribe());
        let task = task(Arc::clone(service), Box::pin(until(self.stop.subscribe())));
        self.tasks.spawn_on(
            async move {
                tokio::select! {
                    biased;
                    () = waits.until_open() => task.await,
                    () = gives_up => {}
                }
            },
            runtime,
        );
    }

    /// Stops the tasks, waiting at most `at_most` for them to finish their current work.
    async fn stop(self, at_most: Duration) {
        // Sending fails if every task has ended already.
        let _ended = self.stop.send(true);
        if tokio::time::timeout(at_most, self.tasks.join_all())
            .await
            .is_err()
        {
            tracing::warn!("background task did not finish in time; aborted");
        }
    }
}

/// Completes when a task is to stop.
type Stopped = Pin<Box<dyn Future<Output = ()> + Send>>;

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
        let (mut deliveries, mut others) = (Group::new(), Group::new());
        service.await_epoch();
        let of = Arc::clone(service);
        others.start(runtime, |stop| async move { of.run_epoch(stop).await });
        let of = Arc::clone(service);
        others.start(
            runtime,
            |stop| async move { of.run_measurements(stop).await },
        );
        if duties.webhooks {
            deliveries.start_when_open(runtime, service, |of, stop| async move {
                of.run_webhooks(stop).await
            });
        }
        if duties.messages {
            deliveries.start_when_open(runtime, service, |of, stop| async move {
                of.run_outbox(stop).await
            });
        }
        if duties.checkpoints {
            others.start_when_open(runtime, service, |of, stop| async move {
                of.run_checkpoints(stop).await
            });
        }
        others.start_when_open(runtime, service, |of, stop| async move {
            of.run_sweeper(stop).await
        });
        others.start_when_open(runtime, service, |of, stop| async move {
            of.run_refusals(stop).await
        });
        others.start_when_open(runtime, service, |of, stop| async move {
            of.run_outbox_counts(stop).await
        });
        others.start_when_open(runtime, service, |of, stop| async move {
            of.run_activity(stop).await
        });
        others.start_when_open(runtime, service, |of, stop| async move {
            of.run_sequencer(stop).await
        });
        Self {
            service: Arc::clone(service),
            runtime: runtime.clone(),
            deliveries,
            others,
        }
    }

    /// Stops deliveries, waiting at most `at_most` for them to finish their current work. A message interrupted here is sent again by
    /// another worker when its lease ends.
    pub(crate) async fn stop_deliveries(self, at_most: Duration) -> Rest {
        let Self {
            service,
            runtime,
            deliveries,
            others,
        } = self;
        deliveries.stop(at_most).await;
        Rest {
            service,
            runtime,
            others,
        }
    }
}

/// The tasks that remain once deliveries and requests have ended.
pub(crate) struct Rest {
    service: Arc<Service>,
    runtime: Handle,
    others: Group,
}

impl Rest {
    /// Stops the other tasks, and writes the activity that was counted until now.
    pub(crate) async fn finish(self) {
        let Self {
            service,
            runtime,
            others,
        } = self;
        others.stop(LAST_TASKS).await;
        let here = Arc::clone(&service);
        let settled = runtime.spawn(async move { here.settle_changes().await });
        if !settled.await.unwrap_or(false) {
            tracing::warn!("changes are not in the journal; a restore would lose them");
        }
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
