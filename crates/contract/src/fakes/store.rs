//! An in-memory database.
//!
//! A writing transaction holds the single write lock and works on a copy of the whole state, which replaces the original at commit.
//! Dropping it undoes everything at once. A view is a copy too, so it never changes under its reader.

mod activity;
mod apps;
mod audit;
mod audit_chains;
mod checkpoints;
mod codes;
mod control;
mod events;
mod idempotency;
mod identifiers;
mod leases;
mod limits;
mod links;
mod operators;
mod outbox;
mod passkeys;
mod passwords;
mod persistent_secrets;
mod providers;
mod recovery;
mod search;
mod sessions;
mod state;
mod totps;
mod users;
mod wallet_challenges;
mod wallet_imports;
mod wallets;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::sync::{Mutex as Turns, OwnedMutexGuard as Turn};
use vestry_domain::app::App;
use vestry_domain::audit::control::{ControlEntry, ControlHead};
use vestry_domain::audit::{AuditEntry, AuditHead, AuditMarker};
use vestry_domain::event::{Event, EventHead};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{
    CommitEffect, CommitHook, Repositories, SinkProgress, Store, StoreError, StoreResult,
    StoredCheckpoint, Tx,
};

use self::state::State;
use super::lock;

/// The maximum wait of a writer for the lock, so that a use case that begins twice fails instead of hanging.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// An in-memory database. It starts empty, and copies of the handle share it.
///
/// It is stricter than a real database: after an error a transaction rejects everything, its commit included.
#[derive(Clone, Default)]
pub struct FakeStore(Arc<Shared>);

/// A snapshot of the database.
#[derive(Clone)]
pub struct Kept(State);

#[derive(Default)]
struct Shared {
    committed: Mutex<State>,
    /// The write lock: one writer at a time, first come, first served.
    turns: Arc<Turns<()>>,
    faults: Mutex<Faults>,
    hook: OnceLock<CommitHook>,
}

#[derive(Default)]
struct Faults {
    lost_commits: usize,
    unavailable: bool,
    /// How many operations succeed before one fails.
    until_failure: Option<usize>,
    /// The number of view reads after which the given log is pruned up to the given position.
    pruning: Option<(usize, World, i64)>,
}

impl FakeStore {
    /// Makes the next commits save nothing and return [`StoreError::Retry`], like a database transaction that lost to another one (R14).
    pub fn lose_commits(&self, times: usize) {
        lock(&self.0.faults).lost_commits = times;
    }

    /// Makes the database unreachable (`true`) or reachable again. Running transactions continue.
    pub fn set_unavailable(&self, unavailable: bool) {
        lock(&self.0.faults).unavailable = unavailable;
    }

    /// Makes one operation fail after this many successful ones; later operations succeed again.
    ///
    /// A begin, a repository call and a commit count as one operation each. `None` cancels a failure that has not occurred yet.
    pub fn fail_after(&self, operations: impl Into<Option<usize>>) {
        lock(&self.0.faults).until_failure = operations.into();
    }

    /// Prunes the log of a world up to a position after this many further view reads. The open view sees it, as it would between two
    /// statements on a real database.
    pub fn prune_after(&self, reads: usize, world: World, first_kept: i64) {
        lock(&self.0.faults).pruning = Some((reads, world, first_kept));
    }

    /// Prunes what [`FakeStore::prune_after`] requested once it is due, and returns whether it did.
    fn prune_now(&self) -> bool {
        let mut faults = lock(&self.0.faults);
        match &mut faults.pruning {
            Some((0, world, first_kept)) => {
                let (world, first_kept) = (*world, *first_kept);
                faults.pruning = None;
                lock(&self.0.committed).prune(world, |event| event.position < first_kept);
                true
            }
            Some((reads, ..)) => {
                *reads -= 1;
                false
            }
            None => false,
        }
    }

    /// A snapshot of the current state, for [`FakeStore::set_back`].
    pub fn kept(&self) -> Kept {
        Kept(lock(&self.0.committed).clone())
    }

    /// Restores a snapshot, like a failover that lost the last commits.
    pub fn set_back(&self, kept: Kept) {
        *lock(&self.0.committed) = kept.0;
    }

    /// Edits the heads of the control chains without the service's knowledge.
    pub fn edit_control_heads(&self, edit: impl FnOnce(&mut Vec<ControlHead>)) {
        edit(&mut lock(&self.0.committed).control_heads);
    }

    /// Edits entries of the control chains without the service's knowledge.
    pub fn edit_control_entries(&self, edit: impl FnOnce(&mut Vec<ControlEntry>)) {
        edit(&mut lock(&self.0.committed).control_entries);
    }

    /// Edits the entries and heads of the wallet chains without the service's knowledge.
    pub fn edit_audit_log(&self, edit: impl FnOnce(&mut Vec<AuditEntry>, &mut Vec<AuditHead>)) {
        let mut state = lock(&self.0.committed);
        let State {
            audit_entries,
            audit_heads,
            ..
        } = &mut *state;
        edit(audit_entries, audit_heads);
    }

    /// Edits the markers of pruned chains without the service's knowledge.
    pub fn edit_audit_markers(&self, edit: impl FnOnce(&mut Vec<AuditMarker>)) {
        edit(&mut lock(&self.0.committed).audit_markers);
    }

    /// Edits the Apps without the service's knowledge.
    pub fn edit_apps(&self, edit: impl FnOnce(&mut Vec<App>)) {
        edit(&mut lock(&self.0.committed).apps);
    }

    /// Edits the events and the heads of their logs without the service's knowledge.
    pub fn edit_events(&self, edit: impl FnOnce(&mut Vec<Event>, &mut HashMap<World, EventHead>)) {
        let mut state = lock(&self.0.committed);
        let State {
            events,
            event_heads,
            ..
        } = &mut *state;
        edit(events, event_heads);
    }

    /// Edits the checkpoints and the progress of each sink without the service's knowledge.
    pub fn edit_checkpoints(
        &self,
        edit: impl FnOnce(
            &mut BTreeMap<(World, i64), StoredCheckpoint>,
            &mut BTreeMap<(World, String), SinkProgress>,
        ),
    ) {
        let mut state = lock(&self.0.committed);
        let State {
            checkpoints,
            checkpoint_sinks,
            ..
        } = &mut *state;
        edit(checkpoints, checkpoint_sinks);
    }

    /// Edits the leases, keyed by task, without the service's knowledge.
    pub fn edit_leases(&self, edit: impl FnOnce(&mut HashMap<String, (String, Timestamp)>)) {
        edit(&mut lock(&self.0.committed).leases);
    }

    /// Whether the requested failure has not occurred yet.
    pub fn has_yet_to_fail(&self) -> bool {
        lock(&self.0.faults).until_failure.is_some()
    }

    /// Checks that the database is reachable, at each begin.
    fn reach(&self) -> StoreResult<()> {
        if lock(&self.0.faults).unavailable {
            return Err(StoreError::Unavailable(
                "made unavailable by the test".into(),
            ));
        }
        self.operate()
    }

    /// Counts one operation.
    fn operate(&self) -> StoreResult<()> {
        let mut faults = lock(&self.0.faults);
        let left = faults.until_failure;
        faults.until_failure = left.and_then(|left| left.checked_sub(1));
        match left {
            Some(0) => Err(StoreError::Unavailable("failure set by the test".into())),
            _ => Ok(()),
        }
    }

    /// Yields, as every round trip to a database does, so that use cases that race over this store interleave.
    async fn work(&self, turn: Option<Turn<()>>) -> Work {
        let work = Work {
            store: self.clone(),
            state: lock(&self.0.committed).clone(),
            turn,
            is_dead: false,
            effects: BTreeSet::new(),
            counted: Vec::new(),
        };
        tokio::task::yield_now().await;
        work
    }
}

impl std::fmt::Debug for FakeStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FakeStore")
    }
}

#[port]
impl Store for FakeStore {
    async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        self.reach()?;
        let turn = Arc::clone(&self.0.turns).lock_owned();
        match tokio::time::timeout(MAX_WAIT, turn).await {
            Ok(turn) => Ok(Box::new(self.work(Some(turn)).await)),
            Err(_elapsed) => Err(StoreError::Busy),
        }
    }

    async fn read(&self) -> StoreResult<Box<dyn Repositories>> {
        self.reach()?;
        Ok(Box::new(self.work(None).await))
    }

    fn on_commit(&self, hook: CommitHook) {
        // Only the first hook is kept.
        let _is_second = self.0.hook.set(hook);
    }

    async fn ready(&self) -> StoreResult<()> {
        self.reach()
    }
}

/// A transaction; without the write lock, a view.
struct Work {
    store: FakeStore,
    state: State,
    turn: Option<Turn<()>>,
    is_dead: bool,
    /// Effects of the commit.
    effects: BTreeSet<CommitEffect>,
    /// Facts and changes to report after the commit.
    counted: Vec<CommitEffect>,
}

impl Work {
    fn refuse(&mut self, why: &'static str) -> StoreError {
        self.is_dead = true;
        StoreError::Other(why.into())
    }

    /// Counts one operation; after a failed one, every later operation of the transaction fails.
    fn operate(&mut self) -> StoreResult<()> {
        let outcome = self.store.operate();
        self.is_dead = outcome.is_err();
        outcome
    }

    /// Runs one read operation.
    fn reading<T>(&mut self, read: impl FnOnce(&State) -> T) -> StoreResult<T> {
        if self.is_dead {
            return Err(self.refuse("used after an error"));
        }
        self.operate()?;
        if self.turn.is_none() && self.store.prune_now() {
            self.state = lock(&self.store.0.committed).clone();
        }
        Ok(read(&self.state))
    }

    /// Runs one write operation; an error is a violated constraint.
    fn writing<T>(
        &mut self,
        write: impl FnOnce(&mut State) -> Result<T, &'static str>,
    ) -> StoreResult<T> {
        if self.is_dead {
            return Err(self.refuse("used after an error"));
        }
        if self.turn.is_none() {
            return Err(self.refuse("a view cannot write"));
        }
        self.operate()?;
        write(&mut self.state).map_err(|broken| self.refuse(broken))
    }
}

#[port]
impl Tx for Work {
    async fn commit(mut self: Box<Self>) -> StoreResult<()> {
        if self.is_dead {
            return Err(self.refuse("committed after an error"));
        }
        self.operate()?;
        let mut faults = lock(&self.store.0.faults);
        if faults.lost_commits > 0 {
            faults.lost_commits -= 1;
            return Err(StoreError::Retry);
        }
        drop(faults);
        *lock(&self.store.0.committed) = std::mem::take(&mut self.state);
        if let Some(hook) = self.store.0.hook.get() {
            let effects = std::mem::take(&mut self.effects);
            let counted = std::mem::take(&mut self.counted);
            effects.into_iter().chain(counted).for_each(hook);
        }
        Ok(())
    }
}
