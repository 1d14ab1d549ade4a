//! The gate before the database: closed while it may have been set back (PR-83).

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;
use vestry_domain::audit::{AuditEntry, AuditStep};
use vestry_domain::ids::AuditChainId;
use vestry_ports::port;
use vestry_ports::store::{
    CommitHook, Partitions, Repositories, Store, StoreError, StoreResult, Tx,
};

/// Whether the database is used.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: AtomicU8,
    opened: Notify,
}

const OPEN: u8 = 0;
const READS: u8 = 1;
const CLOSED: u8 = 2;

/// Why the database is not used. Operators read it in logs, and commands print it.
#[derive(Debug, thiserror::Error)]
#[error(
    "database is behind its audit checkpoints, or was not compared with them yet; see docs/backup.md"
)]
struct HeldBack;

impl Gate {
    pub(crate) fn open(&self) {
        self.state.store(OPEN, Ordering::Release);
        self.opened.notify_waiters();
    }

    pub(crate) async fn until_open(&self) {
        let mut opened = std::pin::pin!(self.opened.notified());
        // Listens before it looks.
        opened.as_mut().enable();
        if self.is_closed() {
            opened.await;
        }
    }

    /// Refuses changes, for commands.
    pub(crate) fn allow_reads(&self) {
        self.state.store(READS, Ordering::Relaxed);
    }

    pub(crate) fn close(&self) {
        self.state.store(CLOSED, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) == CLOSED
    }

    fn pass(&self, is_change: bool) -> StoreResult<()> {
        match self.state.load(Ordering::Relaxed) {
            OPEN => Ok(()),
            READS if !is_change => Ok(()),
            _ => Err(StoreError::Unavailable(Box::new(HeldBack))),
        }
    }
}

/// A database behind a gate.
pub(crate) struct GatedStore {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) gate: Arc<Gate>,
}

#[port]
impl Store for GatedStore {
    async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        self.gate.pass(true)?;
        self.store.begin().await
    }

    async fn read(&self) -> StoreResult<Box<dyn Repositories>> {
        self.gate.pass(false)?;
        self.store.read().await
    }

    async fn append_to_audit_log(
        &self,
        entries: &[AuditEntry],
        steps: &[AuditStep],
    ) -> StoreResult<Vec<AuditChainId>> {
        self.gate.pass(true)?;
        self.store.append_to_audit_log(entries, steps).await
    }

    fn on_commit(&self, hook: CommitHook) {
        self.store.on_commit(hook);
    }

    fn partitions(&self) -> Partitions {
        self.store.partitions()
    }

    fn measure(&self) {
        self.store.measure();
    }

    async fn ready(&self) -> StoreResult<()> {
        self.store.ready().await
    }
}
