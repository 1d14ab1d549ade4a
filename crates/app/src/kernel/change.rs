//! Audited transactions: a change and its audit entry are committed together or not at all (AUD-1).

use std::ops::{Deref, DerefMut};

use vestry_domain::audit::control::{ControlAction, ControlEvent, Detail, Outcome, Subject};
use vestry_domain::ids::AppId;
use vestry_domain::{Environment, World};
use vestry_ports::store::Tx;

use crate::kernel::fault::retried;
use crate::kernel::source::Source;
use crate::kernel::state::control_trail::{ControlTrail, NewEnds};
use crate::{Fault, Principal, Service};

/// A transaction that commits its changes with their audit entries.
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
    /// Queues an entry to be written at commit.
    pub(crate) fn note(&mut self, event: ControlEvent) {
        self.noted.push(event);
    }

    /// Commits the changes with their entries. It is an error if there is no entry: a transaction without changes must be dropped instead.
    ///
    /// # Errors
    /// See [`Fault`]. As with [`Tx::commit`], an error during the commit leaves the outcome unknown.
    pub(crate) async fn commit(self) -> Result<(), Fault> {
        if self.noted.is_empty() {
            return Err(Fault::Internal("change without an audit entry".into()));
        }
        self.commit_with_any().await
    }

    /// Commits the changes with their entries, if there are any.
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

    /// Commits as the last transaction of a use case: see [`Caller::commit_last`](crate::Caller::commit_last).
    ///
    /// # Errors
    /// See [`Change::commit`].
    pub(crate) async fn commit_last(mut self, by: &Principal) -> Result<(), Fault> {
        if let Some(act) = &by.act {
            self.note(act.entry()?);
        }
        let Some(run) = &by.run else {
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
    /// Begins an audited transaction in one environment, or in both of an App.
    pub(crate) async fn begin_change(
        &self,
        worlds: impl IntoIterator<Item = World> + Send,
    ) -> Result<Change<'_>, Fault> {
        let worlds: Vec<World> = worlds.into_iter().collect();
        for world in &worlds {
            self.prepare_audit_log(world).await?;
        }
        Ok(Change {
            tx: self.ports.store.begin().await?,
            trail: &self.control,
            noted: Vec::new(),
        })
    }

    /// Loads the keys of an environment's audit log. Transactions that write to it then need not wait for the key provider.
    pub(crate) async fn prepare_audit_log(&self, world: &World) -> Result<(), Fault> {
        self.control.make_ready(world).await?;
        self.control.look_at_end(&*self.ports.store, world).await
    }

    /// Begins a transaction that is audited only if `is_recorded`.
    pub(crate) async fn begin_change_if(
        &self,
        is_recorded: bool,
        world: World,
    ) -> Result<Change<'_>, Fault> {
        self.begin_change(is_recorded.then_some(world)).await
    }

    /// Writes an entry in its own transaction, before an operation that needs more than one transaction.
    pub(crate) async fn record_change(&self, event: ControlEvent) -> Result<(), Fault> {
        retried(|| async {
            let mut change = self.begin_change([event.world]).await?;
            change.note(event.clone());
            change.commit().await
        })
        .await
    }

    /// Builds an entry about a completed action.
    pub(crate) fn done(
        &self,
        by: &Source<'_>,
        action: ControlAction,
        subject: impl Into<Subject>,
        detail: &Detail,
    ) -> ControlEvent {
        let detail = match by.client {
            Some(client) => detail.clone().with("ip", client.to_string()).text(),
            None => detail.text(),
        };
        ControlEvent {
            world: by.world,
            actor: by.actor,
            action,
            subject: subject.into(),
            detail,
            outcome: Outcome::Done,
            request_id: by.request_id.as_deref().map(str::to_owned),
            at: self.machine_time(),
        }
    }
}

/// Returns both environments of an App.
pub(crate) fn worlds_of(app: AppId) -> [World; 2] {
    Environment::ALL.map(|environment| World::new(app, environment))
}
