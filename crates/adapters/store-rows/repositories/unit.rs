//! The unit of work: one pooled connection, its permitted use, and its progress.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use deadpool::managed::Object;
use diesel::QueryResult;
use diesel_async::SimpleAsyncConnection;
use tokio::runtime::Handle;
use vestry_domain::World;
use vestry_domain::activity::Measure;
use vestry_domain::event::NewEvent;
use vestry_domain::journal::Change;
use vestry_domain::metric::{TransactionKind, TransactionOutcome};
use vestry_ports::port;
use vestry_ports::store::{CommitEffect, CommitHook, StoreResult, Tx};

use super::dialect::{self, Conn, Manager};
use vestry_store_rows::failure::{Misuse, unanswered};
use vestry_store_rows::measured::{Measured, outcome_of};
use vestry_store_rows::rows::events::UnsequencedRow;

/// A pooled connection.
pub(crate) type Pooled = Object<Manager>;

/// The permitted use of the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Reading only. Statements commit individually.
    View,
    /// One call that writes and commits on its own.
    SelfCommitting,
    /// Inside an open transaction.
    Transaction,
}

/// The progress of the work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Between two statements.
    Ready,
    /// A statement has started and its end was not observed. A dropped future leaves the unit in this state.
    Running,
    /// A statement failed; no more statements are allowed.
    Failed,
    /// Committed.
    Finished,
}

/// Properties of the database.
#[derive(Clone)]
pub(crate) struct Site {
    /// The runtime on which abandoned connections are cleaned up.
    pub(crate) runtime: Handle,
    /// The statement that opens a writing transaction.
    pub(crate) begin: &'static str,
    /// Whether the Apps are distributed over several servers.
    pub(crate) is_distributed: bool,
    /// Called after commits; see [`vestry_ports::store::Store::on_commit`].
    pub(crate) hook: Arc<OnceLock<CommitHook>>,
    pub(crate) measured: Measured,
}

/// A connection that implements the repositories.
pub(crate) struct Unit {
    /// Empty only while the unit is being dropped.
    connection: Option<Pooled>,
    access: Access,
    progress: Progress,
    site: Site,
    begun: Instant,
    /// How a statement failed.
    failed: Option<TransactionOutcome>,
    /// Events to write at the commit.
    emitted: Vec<NewEvent>,
    /// Effects to report after the commit.
    effects: BTreeSet<CommitEffect>,
    /// Facts and changes to report after the commit, each of them.
    counted: Vec<CommitEffect>,
}

impl Unit {
    fn new(connection: Pooled, access: Access, site: Site) -> Self {
        Self {
            connection: Some(connection),
            access,
            progress: Progress::Ready,
            site,
            begun: Instant::now(),
            failed: None,
            emitted: Vec::new(),
            effects: BTreeSet::new(),
            counted: Vec::new(),
        }
    }

    /// Creates a unit for reading, without a transaction.
    pub(crate) fn view(connection: Pooled, site: Site) -> Self {
        Self::new(connection, Access::View, site)
    }

    /// Creates a unit for one call that is its own transaction.
    pub(crate) fn self_committing(connection: Pooled, site: Site) -> Self {
        Self::new(connection, Access::SelfCommitting, site)
    }

    /// Opens a writing transaction.
    ///
    /// # Errors
    /// If the database refuses; the connection is then closed.
    pub(crate) async fn begin(connection: Pooled, site: Site) -> StoreResult<Self> {
        let begin = site.begin;
        let mut unit = Self::new(connection, Access::Transaction, site);
        let begun = dialect::begin(unit.reading()?, begin).await;
        unit.done(begun)?;
        Ok(unit)
    }

    /// Returns the connection for a read-only statement. The outcome must be passed to [`Unit::done`].
    pub(super) fn reading(&mut self) -> StoreResult<&mut Conn> {
        if self.progress != Progress::Ready {
            return Err(Misuse::Dead.into());
        }
        let connection = self.connection.as_deref_mut();
        let connection = connection.ok_or(Misuse::Dead)?;
        self.progress = Progress::Running;
        Ok(connection)
    }

    /// Returns the connection for a writing statement. The outcome must be passed to [`Unit::done`].
    pub(super) fn writing(&mut self) -> StoreResult<&mut Conn> {
        if self.access == Access::View {
            self.progress = Progress::Failed;
            return Err(Misuse::ReadOnly.into());
        }
        self.reading()
    }

    /// Queues events for the commit.
    pub(super) fn emit(&mut self, events: &[NewEvent]) -> StoreResult<()> {
        self.writing()?;
        self.progress = Progress::Ready;
        self.emitted.extend_from_slice(events);
        let effects = events.iter().map(|event| CommitEffect::Events(event.world));
        self.effects.extend(effects);
        let changes = events.iter().filter_map(Change::of);
        let changes = changes.map(|change| CommitEffect::Changed(Box::new(change)));
        self.counted.extend(changes);
        Ok(())
    }

    /// Reports an effect when the transaction has committed.
    pub(super) fn report_later(&mut self, effect: CommitEffect) {
        self.effects.insert(effect);
    }

    /// Reports facts when the transaction has committed.
    pub(super) fn count_later(&mut self, world: World, measure: Measure, count: u64) {
        self.counted
            .push(CommitEffect::Counted(world, measure, count));
    }

    /// Whether reads here are never part of a writing transaction.
    pub(super) const fn is_view(&self) -> bool {
        matches!(self.access, Access::View)
    }

    /// Whether the Apps are distributed over several servers.
    pub(super) const fn is_distributed(&self) -> bool {
        self.site.is_distributed
    }

    /// Whether another statement may follow.
    pub(super) const fn is_ready(&self) -> bool {
        matches!(self.progress, Progress::Ready)
    }

    /// Runs a statement that returns nothing.
    pub(super) async fn say(&mut self, statement: &str) -> StoreResult<()> {
        let said = self.reading()?.batch_execute(statement).await;
        self.done(said)
    }

    /// Records the outcome of the statement that was started.
    pub(super) fn done<T>(&mut self, outcome: QueryResult<T>) -> StoreResult<T> {
        match outcome {
            Ok(value) => {
                self.progress = Progress::Ready;
                Ok(value)
            }
            Err(error) => {
                self.progress = Progress::Failed;
                let error = dialect::classify(error, self.connection.as_deref_mut());
                self.failed = Some(outcome_of(&error));
                Err(error)
            }
        }
    }
}

#[port]
impl Tx for Unit {
    async fn commit(mut self: Box<Self>) -> StoreResult<()> {
        let rows = (0..).zip(&self.emitted);
        let rows = rows
            .map(|(ordinal, event)| UnsequencedRow::new(event, ordinal))
            .collect();
        // Postgres answers the COMMIT of a failed transaction with a silent ROLLBACK; `writing` prevents that case.
        let committed = dialect::commit_with_events(self.writing()?, rows).await;
        // The outcome is unknown, and the connection is discarded with this unit.
        let committed = committed.ok_or_else(unanswered)?;
        self.done(committed)?;
        self.progress = Progress::Finished;
        if let Some(hook) = self.site.hook.get() {
            let effects = std::mem::take(&mut self.effects);
            let counted = std::mem::take(&mut self.counted);
            effects.into_iter().chain(counted).for_each(hook);
        }
        Ok(())
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        let outcome = match self.progress {
            // A transaction that its use case gave up has not failed.
            Progress::Ready | Progress::Finished => TransactionOutcome::Ok,
            // A commit without an answer, or a caller that is gone.
            Progress::Running | Progress::Failed => {
                self.failed.unwrap_or(TransactionOutcome::Other)
            }
        };
        let kind = match self.access {
            Access::View => TransactionKind::Read,
            Access::Transaction => TransactionKind::Write,
            Access::SelfCommitting => TransactionKind::Batch,
        };
        self.site.measured.transaction(kind, outcome, self.begun);
        match (self.access, self.progress) {
            // Return it to the pool.
            (Access::View | Access::SelfCommitting, Progress::Ready) | (_, Progress::Finished) => {
                drop(connection)
            }
            (Access::Transaction, Progress::Ready | Progress::Failed) => {
                let abandoned = AbandonedConnection(Some(connection));
                self.site.runtime.spawn(abandoned.roll_back());
            }
            // The state of the connection is unknown.
            (_, Progress::Running | Progress::Failed) => {
                drop(AbandonedConnection(Some(connection)))
            }
        }
    }
}

/// A connection outside the pool that is closed unless its rollback succeeds.
struct AbandonedConnection(Option<Pooled>);

impl AbandonedConnection {
    /// Rolls back uncommitted work. That is cheaper for the server than a new connection.
    async fn roll_back(mut self) {
        let Some(connection) = self.0.as_deref_mut() else {
            return;
        };
        let undone = tokio::time::timeout(
            dialect::ROLLBACK_TIMEOUT,
            connection.batch_execute("ROLLBACK"),
        );
        if matches!(undone.await, Ok(Ok(()))) {
            drop(self.0.take());
        }
    }
}

impl Drop for AbandonedConnection {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            dialect::close(Object::take(connection));
        }
    }
}
