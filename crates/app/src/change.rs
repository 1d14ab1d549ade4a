//! Changes that the audit log tells of: what is to be recorded is on disk with its entry, or not at all (AUD-1).

use std::ops::{Deref, DerefMut};

use vestry_domain::audit::control::{ControlAction, ControlEvent, Detail, Outcome, Subject};
use vestry_domain::ids::AppId;
use vestry_domain::{Environment, World};
use vestry_ports::store::Tx;

use crate::control_trail::{ControlTrail, NewEnds};
use crate::events::Source;
use crate::fault::retried;
use crate::{Caller, Fault, Service};

/// A transaction that ends with the entries of what it changed.
pub(crate) struct Change<'a> {
    tx: Box<dyn Tx>,
    trail: &'a ControlTrail,
    noted: Vec<ControlEvent>,
}

impl Deref for Change<'_> {
    type Target = dyn Tx;

    fn deref(&self) -> &Self::Target {
        &*self.tx
    }
}

impl DerefMut for Change<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.tx
    }
}

impl Change<'_> {
    /// Has an entry written at the commit.
    pub(crate) fn note(&mut self, event: ControlEvent) {
        self.noted.push(event);
    }

    /// Commits what was changed with the entries of it. Without one it is an error, unless nothing was changed: then the transaction is
    /// to be dropped.
    ///
    /// # Errors
    /// See [`Fault`]; as after [`Tx::commit`], an error of the commit leaves open whether it happened.
    pub(crate) async fn commit(self) -> Result<(), Fault> {
        if self.noted.is_empty() {
            return Err(Fault::Internal("a change without an entry".into()));
        }
        self.commit_with_any().await
    }

    /// Commits what was changed with its entries, if it has any.
    ///
    /// # Errors
    /// See [`Change::commit`].
    pub(crate) async fn commit_with_any(self) -> Result<(), Fault> {
        let trail = self.trail;
        let (tx, ends) = self.written().await?;
        tx.commit().await?;
        trail.committed(ends);
        Ok(())
    }

    /// The same as the last transaction of a use case: see [`Caller::commit_last`].
    ///
    /// # Errors
    /// See [`Change::commit`].
    pub(crate) async fn commit_last(self, caller: &Caller) -> Result<(), Fault> {
        let Some(run) = &caller.run else {
            return self.commit_with_any().await;
        };
        let (tx, ends) = self.written().await?;
        run.leave_open(tx, Some(ends));
        Ok(())
    }

    async fn written(self) -> Result<(Box<dyn Tx>, NewEnds), Fault> {
        let Self {
            mut tx,
            trail,
            noted,
        } = self;
        let ends = trail.write(&mut *tx, noted).await?;
        Ok((tx, ends))
    }
}

impl Service {
    /// Begins a change in a world, or in both of an App.
    pub(crate) async fn begin_change(
        &self,
        worlds: impl IntoIterator<Item = World> + Send,
    ) -> Result<Change<'_>, Fault> {
        let worlds: Vec<World> = worlds.into_iter().collect();
        for world in &worlds {
            self.control.make_ready(world).await?;
            self.control.look_at_end(&*self.ports.store, world).await?;
        }
        Ok(Change {
            tx: self.ports.store.begin().await?,
            trail: &self.control,
            noted: Vec::new(),
        })
    }

    /// Begins a change that has entries only if it `is_recorded`.
    pub(crate) async fn begin_change_if(
        &self,
        is_recorded: bool,
        world: World,
    ) -> Result<Change<'_>, Fault> {
        self.begin_change(is_recorded.then_some(world)).await
    }

    /// Writes an entry by itself, of what is about to be done and takes more than a transaction.
    pub(crate) async fn record_change(&self, event: ControlEvent) -> Result<(), Fault> {
        retried(|| async {
            let mut change = self.begin_change([event.world]).await?;
            change.note(event.clone());
            change.commit().await
        })
        .await
    }

    /// What was done, for its entry.
    pub(crate) fn done(
        &self,
        by: &Source<'_>,
        action: ControlAction,
        subject: impl Into<Subject>,
        detail: &Detail,
    ) -> ControlEvent {
        ControlEvent {
            world: by.world,
            actor: by.actor,
            action,
            subject: subject.into(),
            detail: detail.text(),
            outcome: Outcome::Done,
            request_id: by.request_id.as_deref().map(str::to_owned),
            at: self.machine_time(),
        }
    }

    /// The same by whoever runs `vestry`.
    pub(crate) fn done_by_cli(
        &self,
        world: World,
        action: ControlAction,
        subject: impl Into<Subject>,
        detail: &Detail,
    ) -> ControlEvent {
        self.done(&Source::cli(world), action, subject, detail)
    }
}

/// Both worlds of an App.
pub(crate) fn worlds_of(app: AppId) -> [World; 2] {
    Environment::ALL.map(|environment| World::new(app, environment))
}
