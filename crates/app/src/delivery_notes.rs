//! What became of messages, noted for those that ended at the same time in one transaction.

use std::collections::HashMap;
use std::sync::Arc;

use vestry_domain::app::App;
use vestry_domain::event::NewEvent;
use vestry_domain::ids::{AppId, JobId};
use vestry_domain::message::{CapturedMessage, JobEnd};
use vestry_domain::{Timestamp, World};
use vestry_ports::clock::Clock;
use vestry_ports::store::{Repositories, Store};

use crate::Fault;
use crate::fault::retried;
use crate::ports::Ports;
use crate::together::Batch;

/// What became of one job.
pub(crate) struct Note {
    pub(crate) world: World,
    pub(crate) job: JobId,
    /// The worker that holds it.
    pub(crate) owner: String,
    pub(crate) ending: Ending,
    /// What is told of an end, if that is wanted.
    pub(crate) told: Option<NewEvent>,
}

/// How a try ended.
pub(crate) enum Ending {
    End(JobEnd),
    Captured(Box<CapturedMessage>),
    /// To be tried again then.
    Again(Timestamp),
}

/// Where notes are written.
pub(crate) struct Notes {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
}

impl Notes {
    pub(crate) fn new(ports: &Ports) -> Self {
        Self {
            store: Arc::clone(&ports.store),
            clock: Arc::clone(&ports.clock),
        }
    }

    /// Writes all of them, or none; whether a message was captured, for each.
    async fn write(&self, notes: &[Note]) -> Result<Vec<bool>, Fault> {
        let now = self.clock.machine();
        let mut tx = self.store.begin().await?;
        let mut captured = Vec::with_capacity(notes.len());
        let mut told = Vec::new();
        for note in notes {
            let is_held = write_one(&mut *tx, note, now).await?;
            told.extend(note.told.as_ref().filter(|_| is_held).cloned());
            captured.push(is_held && matches!(note.ending, Ending::Captured(_)));
        }
        let wanted = wanted(&mut *tx, told).await?;
        if !wanted.is_empty() {
            tx.events().append(&wanted).await?;
        }
        tx.commit().await?;
        Ok(captured)
    }
}

impl Batch for Notes {
    type Asked = Note;
    /// Whether a message was captured.
    type Answer = Result<bool, Fault>;
    type Memory = ();

    const MOST: usize = 64;

    fn app(note: &Note) -> AppId {
        note.world.app_id
    }

    async fn serve(&self, notes: Vec<Note>, (): &mut ()) -> Vec<Self::Answer> {
        if let Ok(captured) = retried(|| self.write(&notes)).await {
            return captured.into_iter().map(Ok).collect();
        }
        // One that cannot be written does not hold up the others.
        let mut outcomes = Vec::with_capacity(notes.len());
        for note in &notes {
            let alone = std::slice::from_ref(note);
            let captured = retried(|| self.write(alone)).await;
            outcomes.push(captured.map(|captured| captured == [true]));
        }
        outcomes
    }
}

/// What is always told, and of the rest what its App asks for, which is only read if there is such an event.
async fn wanted(tx: &mut dyn Repositories, told: Vec<NewEvent>) -> Result<Vec<NewEvent>, Fault> {
    let mut apps: HashMap<AppId, App> = HashMap::new();
    for event in told.iter().filter(|event| event.kind.is_optional()) {
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
    Ok(told.into_iter().filter(is_wanted).collect())
}

/// Lost leases write nothing, and this says `false`: whoever holds the job notes its end, and captures it.
async fn write_one(tx: &mut dyn Repositories, note: &Note, now: Timestamp) -> Result<bool, Fault> {
    let Note {
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
    }
}
