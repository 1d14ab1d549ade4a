//! Records delivery outcomes in batches, one transaction for all that end at the same time.

use std::collections::HashMap;
use std::sync::Arc;

use vestry_domain::app::App;
use vestry_domain::event::NewEvent;
use vestry_domain::ids::{AppId, JobId};
use vestry_domain::message::{CapturedMessage, JobEnd, JobFault};
use vestry_domain::{Timestamp, World};
use vestry_ports::clock::Clock;
use vestry_ports::store::{Repositories, Store};

use crate::Fault;
use crate::kernel::batcher::Batch;
use crate::kernel::fault::retried;
use crate::kernel::ports::Ports;

/// The outcome of one job.
pub(crate) struct JobOutcome {
    pub(crate) world: World,
    pub(crate) job: JobId,
    /// The worker that holds the lease.
    pub(crate) owner: String,
    pub(crate) ending: Ending,
    /// The event to emit about the end, if any.
    pub(crate) event: Option<NewEvent>,
}

/// Result of an attempt.
pub(crate) enum Ending {
    End(JobEnd),
    Captured(Box<CapturedMessage>),
    /// Retry at this time.
    Again(Timestamp),
    /// The job failed because of itself. Without a time for a retry it is dead.
    Failed(JobFault, Option<Timestamp>),
    /// Not attempted.
    Back,
}

impl Ending {
    /// How the job ended, if it did.
    pub(crate) const fn end(&self) -> Option<JobEnd> {
        match self {
            Self::End(end) => Some(*end),
            Self::Captured(_) => Some(JobEnd::Delivered),
            Self::Failed(_, None) => Some(JobEnd::Dead),
            Self::Again(_) | Self::Failed(_, Some(_)) | Self::Back => None,
        }
    }
}

/// The writer of outcomes.
pub(crate) struct OutboxOutcomes {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
}

impl OutboxOutcomes {
    pub(crate) fn new(ports: &Ports) -> Self {
        Self {
            store: Arc::clone(&ports.store),
            clock: Arc::clone(&ports.clock),
        }
    }

    /// Writes all outcomes or none. Returns for each whether it was written: the lease may have been lost.
    async fn write(&self, notes: &[JobOutcome]) -> Result<Vec<bool>, Fault> {
        let now = self.clock.machine();
        let mut tx = self.store.begin().await?;
        let mut written = Vec::with_capacity(notes.len());
        let mut events = Vec::new();
        for note in notes {
            let is_held = write_one(&mut *tx, note, now).await?;
            events.extend(note.event.as_ref().filter(|_| is_held).cloned());
            written.push(is_held);
        }
        let wanted = wanted(&mut *tx, events).await?;
        if !wanted.is_empty() {
            tx.events().append(&wanted).await?;
        }
        tx.commit().await?;
        Ok(written)
    }
}

impl Batch for OutboxOutcomes {
    type Asked = JobOutcome;
    /// Returns whether the outcome was written.
    type Answer = Result<bool, Fault>;
    type Memory = ();

    const MAX_SIZE: usize = 64;

    fn app(note: &JobOutcome) -> AppId {
        note.world.app_id
    }

    async fn serve(&self, notes: Vec<JobOutcome>, (): &mut ()) -> Vec<Self::Answer> {
        if let Ok(written) = retried(|| self.write(&notes)).await {
            return written.into_iter().map(Ok).collect();
        }
        // Write them one by one, so that one failure does not block the others.
        let mut outcomes = Vec::with_capacity(notes.len());
        for note in &notes {
            let alone = std::slice::from_ref(note);
            let written = retried(|| self.write(alone)).await;
            outcomes.push(written.map(|written| written == [true]));
        }
        outcomes
    }
}

/// Returns the events that are always emitted, and those optional ones that their App asks for. Apps are read only if there are optional
/// events.
async fn wanted(tx: &mut dyn Repositories, events: Vec<NewEvent>) -> Result<Vec<NewEvent>, Fault> {
    let mut apps: HashMap<AppId, App> = HashMap::new();
    for event in events.iter().filter(|event| event.kind.is_optional()) {
        let id = event.world.app_id;
        if !apps.contains_key(&id)
            && let Some(app) = tx.apps().find(id).await?
        {
            apps.insert(id, app);
        }
    }
    let is_wanted = |event: &NewEvent| {
        let World {
            app_id,
            environment,
        } = event.world;
        let app = apps.get(&app_id);
        !event.kind.is_optional() || app.is_some_and(|app| app.wants(environment, event.kind))
    };
    Ok(events.into_iter().filter(is_wanted).collect())
}

/// Writes one outcome. If the lease was lost, nothing is written and `false` is returned: the new holder records the outcome.
async fn write_one(
    tx: &mut dyn Repositories,
    note: &JobOutcome,
    now: Timestamp,
) -> Result<bool, Fault> {
    let JobOutcome {
        world, job, owner, ..
    } = note;
    match &note.ending {
        Ending::End(end) => Ok(tx.outbox().finish(world, *job, owner, *end, now).await?),
        Ending::Captured(message) => {
            let end = JobEnd::Delivered;
            let is_held = tx.outbox().finish(world, *job, owner, end, now).await?;
            if is_held {
                tx.captured().insert(message).await?;
            }
            Ok(is_held)
        }
        Ending::Again(at) => Ok(tx.outbox().retry(world, *job, owner, *at).await?),
        Ending::Failed(fault, again) => {
            let outbox = tx.outbox();
            Ok(outbox.fail(world, *job, owner, *fault, *again, now).await?)
        }
        Ending::Back => Ok(tx.outbox().give_back(world, *job, owner).await?),
    }
}
