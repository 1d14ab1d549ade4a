//! The changes of this process on their way to the journal (PR-85).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use vestry_domain::World;
use vestry_domain::envelope::{Mac, SecretKind};
use vestry_domain::journal::{Change, JournalEntry, SignedChange};
use vestry_ports::clock::Clock;
use vestry_ports::custody::{CustodyError, Sealer};
use vestry_ports::journal::Journal;

use crate::Fault;
use crate::kernel::fault::causes;

/// Domain separation of the MAC.
const CHANGE: &[u8] = b"journal change";
/// Changes that are stored together.
const MAX_BATCH: usize = 256;
/// How long a call waits for its changes.
const WITHIN: Duration = Duration::from_secs(2);
/// Interval between attempts.
const AGAIN: Duration = Duration::from_secs(1);

/// Committed changes that wait for the journal. They are lost if the process is killed while the journal cannot be written.
pub(crate) struct ChangeJournal {
    journal: Arc<dyn Journal>,
    sealer: Arc<dyn Sealer>,
    clock: Arc<dyn Clock>,
    runtime: Handle,
    queue: Mutex<Queue>,
    /// Number of changes stored so far.
    stored: watch::Sender<u64>,
    is_failing: AtomicBool,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Change>,
    /// Number of changes so far.
    pushed: u64,
    is_served: bool,
}

impl ChangeJournal {
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        sealer: Arc<dyn Sealer>,
        clock: Arc<dyn Clock>,
        runtime: Handle,
    ) -> Self {
        Self {
            journal,
            sealer,
            clock,
            runtime,
            queue: Mutex::default(),
            stored: watch::Sender::new(0),
            is_failing: AtomicBool::new(false),
        }
    }

    /// Queues a committed change.
    pub(crate) fn push(self: &Arc<Self>, change: Change) {
        let mut queue = self.queue();
        queue.waiting.push_back(change);
        queue.pushed = queue.pushed.saturating_add(1);
        if !std::mem::replace(&mut queue.is_served, true) {
            self.runtime.spawn(Arc::clone(self).serve());
        }
    }

    /// Waits until everything that was queued so far is stored, at most two seconds, and not at all while the journal fails. Returns
    /// whether it is.
    pub(crate) async fn settle(&self) -> bool {
        let pushed = self.queue().pushed;
        if *self.stored.borrow() >= pushed {
            return true;
        }
        if self.is_failing.load(Ordering::Relaxed) {
            return false;
        }
        let mut stored = self.stored.subscribe();
        let stored = stored.wait_for(|stored| *stored >= pushed);
        matches!(tokio::time::timeout(WITHIN, stored).await, Ok(Ok(_)))
    }

    /// Number of changes that wait.
    pub(crate) fn waiting(&self) -> u64 {
        let stored = *self.stored.borrow();
        self.queue().pushed.saturating_sub(stored)
    }

    async fn serve(self: Arc<Self>) {
        loop {
            let batch: Vec<_> = {
                let mut queue = self.queue();
                let many = queue.waiting.len().min(MAX_BATCH);
                let batch = queue.waiting.drain(..many).collect();
                queue.is_served = many > 0;
                batch
            };
            if batch.is_empty() {
                return;
            }
            while let Err(fault) = self.store(&batch).await {
                let error = causes(&fault);
                let waiting = self.waiting();
                if !self.is_failing.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        error,
                        waiting,
                        "journal cannot be written; changes are retried, and a restore would lose them"
                    );
                }
                tokio::time::sleep(AGAIN).await;
            }
            if self.is_failing.swap(false, Ordering::Relaxed) {
                tracing::info!("journal can be written again");
            }
            let many = u64::try_from(batch.len()).unwrap_or(u64::MAX);
            self.stored
                .send_modify(|stored| *stored = stored.saturating_add(many));
        }
    }

    async fn store(&self, changes: &[Change]) -> Result<(), Fault> {
        let mut lines = Vec::with_capacity(changes.len());
        for change in changes {
            let body = change.body().map_err(unwritable)?;
            let parts: [&[u8]; 2] = [CHANGE, body.as_bytes()];
            let mac = self
                .sealer
                .mac(&World::DEPLOYMENT, SecretKind::Audit, &parts);
            let mac = mac.await?;
            let entry = JournalEntry::Change(SignedChange { body, mac });
            lines.push(entry.line().map_err(unwritable)?);
        }
        let stored = self.journal.append(self.clock.machine(), &lines);
        match tokio::time::timeout(WITHIN, stored).await {
            Ok(stored) => stored.map_err(|error| Fault::Unavailable(Box::new(error))),
            Err(elapsed) => Err(Fault::Unavailable(Box::new(elapsed))),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether this deployment wrote the change.
pub(crate) async fn change_matches(
    sealer: &dyn Sealer,
    body: &str,
    mac: &Mac,
) -> Result<bool, CustodyError> {
    let parts: [&[u8]; 2] = [CHANGE, body.as_bytes()];
    sealer
        .mac_matches(&World::DEPLOYMENT, SecretKind::Audit, &parts, mac)
        .await
}

fn unwritable(error: serde_json::Error) -> Fault {
    Fault::Internal(Box::new(error))
}
