//! The sequencer: assigns log positions to committed events.
//!
//! Every process runs one, at once for its own commits and once a second for those of others. Only one writer at a time assigns positions
//! in an environment.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior};
use vestry_domain::World;
use vestry_domain::audit::control::{ControlAction, ControlEvent, Detail, Outcome, Subject};
use vestry_domain::event::{Actor, EventHead, Fact};
use vestry_domain::metric::{Job, TamperKind};
use vestry_domain::webhook::{Delivery, DeliveryState};
use vestry_ports::meter::Counted;
use vestry_ports::store::{Lane, Partitions, Placed, Queue, Tx};

use crate::kernel::fault::{causes, retried};
use crate::kernel::partition;
use crate::{Fault, Principal, Service};

/// Interval between polls of all environments.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long events are gathered to share a commit. Under high load this is longer, so that sequencing takes fewer commits from the writers.
const GATHER: Duration = Duration::from_millis(20);
const GATHER_MANY: Duration = Duration::from_millis(100);
/// Number of events gathered from which the load counts as high: 2,500 a second.
const MANY: usize = 50;
const MANY_OF_MANY: usize = 250;
/// Maximum environments per transaction.
const WORLDS: usize = 64;
/// Maximum events per transaction.
const EVENTS: i64 = 1_000;
/// Heads read in one query.
const HEADS: i64 = 1_000;
/// How long sequencing may stall before an alarm.
const ALARM_AFTER: Duration = Duration::from_secs(60);

impl Service {
    /// Sequences events until `stop` completes.
    pub async fn run_sequencer(&self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let mut second = tokio::time::interval(LOOK_EVERY);
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut gather = GATHER;
        loop {
            let looked = tokio::select! {
                biased;
                () = &mut stop => break,
                looked = self.gathered(&mut second, gather) => looked,
            };
            if looked {
                match self.waiting_worlds().await {
                    Ok(worlds) => self.events.look_again(worlds),
                    Err(fault) => {
                        tracing::warn!(
                            error = causes(&fault),
                            "unsequenced events could not be read; retrying"
                        );
                    }
                }
            }
            let pass = self.sequence().await;
            gather = pass.gather(gather);
            self.note_pass(pass.is_done);
            if pass.is_done {
                self.job_succeeded(Job::Sequence);
            }
        }
        // The rest is left to other processes or the next start.
        self.sequence().await;
    }

    /// Records the result of a pass.
    fn note_pass(&self, is_done: bool) {
        if self.events.note_pass(is_done, ALARM_AFTER) {
            tracing::error!(
                alert = "VestryOutboxStalled",
                "ALARM: event sequencing is stalled for over a minute; event reads and webhooks are delayed; check the preceding sequencing warnings and the database"
            );
        }
    }

    /// Returns for how long this process has failed to sequence events, if that is long enough for an alarm.
    pub(crate) fn sequencing_stalled_for(&self) -> Option<Duration> {
        self.events
            .stalled_for()
            .filter(|stalled| *stalled >= ALARM_AFTER)
    }

    /// Returns for how long this process has failed to sequence events.
    pub(crate) fn sequencing_delay(&self) -> Duration {
        self.events.stalled_for().unwrap_or_default()
    }

    /// Waits until there may be unsequenced events. Returns whether to poll all environments.
    async fn gathered(&self, second: &mut Interval, gather: Duration) -> bool {
        let looked = tokio::select! {
            () = self.events.unsequenced() => false,
            _ = second.tick() => true,
        };
        tokio::time::sleep(gather).await;
        looked
    }

    /// Sequences until no event is left, for callers that cannot rely on the background task.
    ///
    /// # Errors
    /// Unsequenced events could not be read, or not all could be sequenced.
    pub async fn sequence_all(&self) -> Result<(), Fault> {
        loop {
            let worlds = self.waiting_worlds().await?;
            if worlds.is_empty() {
                return Ok(());
            }
            self.events.look_again(worlds);
            if !self.sequence().await.is_done {
                return Err(Fault::Unavailable(
                    "some events could not be sequenced".into(),
                ));
            }
        }
    }

    /// Returns environments with unsequenced events, or some of them if there are many.
    async fn waiting_worlds(&self) -> Result<Vec<World>, Fault> {
        let found = self.look_for_worlds().await;
        if found.is_ok() || self.ports.store.partitions() == Partitions::One {
            return found;
        }
        // A database server is down. Try all environments: those on other servers respond.
        self.every_world().await
    }

    async fn look_for_worlds(&self) -> Result<Vec<World>, Fault> {
        let mut read = self.ports.store.read().await?;
        let (mut worlds, mut last) = (Vec::new(), None);
        while worlds.len() < WORLDS
            && let Some(world) = read.events().waiting(last).await?
        {
            worlds.push(world);
            last = Some(world);
        }
        Ok(worlds)
    }

    /// Makes one pass over the environments known to have unsequenced events.
    async fn sequence(&self) -> Pass {
        let worlds: Vec<World> = self.events.take_unsequenced().into_iter().collect();
        let mut pass = Pass {
            is_done: true,
            ..Pass::default()
        };
        for batch in self.batches(worlds) {
            let placing = retried(|| self.place_some(&batch));
            match partition::limited(self.ports.store.partitions(), placing).await {
                Ok(Batch {
                    again,
                    placed,
                    is_full,
                }) => {
                    self.events.look_again(again);
                    pass.placed += placed;
                    pass.is_full |= is_full;
                }
                // The next poll finds them again.
                Err(fault) => {
                    pass.is_done = false;
                    tracing::warn!(error = causes(&fault), "event sequencing failed; retrying");
                }
            }
        }
        pass
    }

    /// Groups environments that can share a transaction.
    fn batches(&self, worlds: Vec<World>) -> Vec<Vec<World>> {
        let partitions = self.ports.store.partitions();
        let of_one =
            worlds.chunk_by(|one, next| partitions.of(one.app_id) == partitions.of(next.app_id));
        let batches = of_one.flat_map(|worlds| worlds.chunks(WORLDS));
        batches.map(<[World]>::to_vec).collect()
    }

    /// Sequences events in one transaction.
    async fn place_some(&self, worlds: &[World]) -> Result<Batch, Fault> {
        let mut again = BTreeSet::new();
        let mut is_full = false;
        let mut placed = Vec::new();
        let mut queues = BTreeSet::new();
        let mut entries = Vec::new();
        let mut room = EVENTS;
        let mut tx = self.ports.store.begin().await?;
        for world in worlds {
            if room <= 0 {
                is_full |= again.insert(*world);
                continue;
            }
            let Some(head) = tx.events().lock_head(world).await? else {
                // Another process holds the head, and may have started before our events were visible.
                again.insert(*world);
                continue;
            };
            let (head, restarted) = self.checked(&mut *tx, *world, head).await?;
            if restarted.is_some() {
                entries.extend(self.entry_of_restart(*world, head.log).await);
            }
            let (moved, mut events) = tx.events().place(world, head, room).await?;
            let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
            events.extend(restarted);
            queues.extend(self.address(&mut *tx, world, &events).await?);
            if count >= room {
                is_full |= again.insert(*world);
            }
            room = room.saturating_sub(count);
            placed.push((*world, moved));
        }
        let ends = if entries.is_empty() {
            None
        } else {
            Some(self.control.write(&mut *tx, entries).await?)
        };
        tx.commit().await?;
        if let Some(ends) = ends {
            self.control.committed(ends);
        }
        for (world, head) in placed {
            self.events.placed(world, head);
        }
        self.webhooks.ring(queues);
        Ok(Batch {
            again,
            placed: usize::try_from(EVENTS.saturating_sub(room)).unwrap_or(usize::MAX),
            is_full,
        })
    }

    /// Creates a delivery for every matching endpoint, in the transaction that sequences the event, so that no sequenced event lacks one.
    /// Returns the queues that have grown.
    async fn address(
        &self,
        tx: &mut dyn Tx,
        world: &World,
        events: &[Placed],
    ) -> Result<Vec<Queue>, Fault> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.ports.clock.machine();
        let endpoints = tx.webhook_endpoints().hold_enabled(world).await?;
        let mut deliveries = Vec::new();
        let mut queues = Vec::new();
        for endpoint in endpoints {
            let wanted = events
                .iter()
                .filter(|placed| endpoint.types.select(placed.kind));
            let before = deliveries.len();
            deliveries.extend(wanted.map(|placed| Delivery {
                id: self.new_id(now),
                world: *world,
                endpoint_id: endpoint.id,
                event_id: placed.at.id,
                position: placed.at.position,
                kind: placed.kind,
                is_replay: false,
                state: DeliveryState::Waiting,
                attempts: 0,
                due_at: now,
                created_at: now,
            }));
            if deliveries.len() > before {
                queues.push(Queue {
                    world: *world,
                    endpoint_id: endpoint.id,
                    lane: Lane::First,
                });
            }
        }
        tx.deliveries().insert(&deliveries).await?;
        Ok(queues)
    }

    /// Builds the control log entry about a restarted event log. Events have no keyed hash, so the event alone is no proof for a
    /// verification.
    async fn entry_of_restart(&self, world: World, log: i64) -> Option<ControlEvent> {
        // Restarts are rare, so waiting for the key within the transaction is acceptable. The event log continues even without the entry.
        if let Err(error) = self.control.make_ready(&world).await {
            let error = causes(&error);
            tracing::error!(error, %world, "event log restart not recorded in the audit log");
            return None;
        }
        Some(ControlEvent {
            world,
            actor: Actor::System,
            action: ControlAction::ChainRestart,
            subject: Subject::world(&world),
            detail: Detail::default().with("log", log).text(),
            outcome: Outcome::Done,
            request_id: None,
            at: self.machine_time(),
        })
    }

    /// Returns the head, or restarts the log with a first event about it if the database was rolled back.
    async fn checked(
        &self,
        tx: &mut dyn Tx,
        world: World,
        head: EventHead,
    ) -> Result<(EventHead, Option<Placed>), Fault> {
        let Some(end) = self.events.end_of(world) else {
            return Ok((head, None));
        };
        if !was_set_back(tx, world, &head, &end).await? {
            return Ok((head, None));
        }
        self.ports
            .meter
            .count(Counted::TamperAlarm(TamperKind::Rollback));
        tracing::error!(
            alert = "VestryAuditFailing",
            %world,
            log = end.log,
            ended_at = end.position(),
            found_at = head.position(),
            "ALARM: database rollback detected (events already delivered may be lost); the event log was restarted; run `vestry audit verify --against`"
        );
        let last = end.log.max(head.log);
        self.restarted(tx, world, head, last).await
    }

    /// Begins the log after `last`, with an event about it, after the newest event of a locked head.
    async fn restarted(
        &self,
        tx: &mut dyn Tx,
        world: World,
        head: EventHead,
        last: i64,
    ) -> Result<(EventHead, Option<Placed>), Fault> {
        let previous = u64::try_from(last).unwrap_or_default();
        let fact = Fact::log_restarted(previous, head.newest.map(|newest| newest.id));
        let event = self.new_event(&Principal::system().at(world), &fact);
        let head = tx.events().restart(head, last.saturating_add(1), &event);
        let head = head.await?;
        let placed = head.newest.map(|at| Placed {
            at,
            kind: event.kind,
        });
        Ok((head, placed))
    }

    /// Restarts the log of every environment that has events, and returns their number. Readers then know that events after the newest one
    /// may be missing.
    ///
    /// # Errors
    /// See [`Fault`]; some logs may have been restarted.
    pub(crate) async fn restart_event_logs(&self) -> Result<u64, Fault> {
        let (mut last, mut count) = (None, 0);
        loop {
            let mut read = self.ports.store.read().await?;
            let heads = read.events().heads(last, HEADS).await?;
            drop(read);
            let Some((world, _)) = heads.last() else {
                return Ok(count);
            };
            last = Some(*world);
            for (world, head) in heads {
                if head.newest.is_some() {
                    retried(|| self.restart_event_log(world)).await?;
                    count += 1;
                }
            }
        }
    }

    async fn restart_event_log(&self, world: World) -> Result<(), Fault> {
        let mut tx = self.ports.store.begin().await?;
        // Another process that holds the head is about to release it.
        let head = tx.events().lock_head(&world).await?;
        let head = head.ok_or(Fault::LostRace)?;
        let last = head.log;
        let (head, placed) = self.restarted(&mut *tx, world, head, last).await?;
        let queues = self.address(&mut *tx, &world, placed.as_slice()).await?;
        let ends = match self.entry_of_restart(world, head.log).await {
            Some(entry) => Some(self.control.write(&mut *tx, vec![entry]).await?),
            None => None,
        };
        tx.commit().await?;
        if let Some(ends) = ends {
            self.control.committed(ends);
        }
        self.events.placed(world, head);
        self.webhooks.ring(queues);
        Ok(())
    }
}

/// Returns whether events that this process has seen in the log are gone.
async fn was_set_back(
    tx: &mut dyn Tx,
    world: World,
    head: &EventHead,
    end: &EventHead,
) -> Result<bool, Fault> {
    if head.log != end.log {
        // If the log is newer, another process has already recorded the restart.
        return Ok(head.log < end.log);
    }
    let Some(newest) = end.newest else {
        return Ok(false);
    };
    if head.position() <= newest.position {
        return Ok(head.newest != end.newest);
    }
    // The log has grown. It continues our end unless a different event is there. If none is there, the event has expired.
    let there = tx.events().at(&world, newest.position).await?;
    Ok(there.is_some_and(|there| there != newest))
}

/// Result of one transaction.
struct Batch {
    /// Environments to check again.
    again: BTreeSet<World>,
    /// Number of events sequenced.
    placed: usize,
    /// Whether the transaction reached its limit.
    is_full: bool,
}

/// Result of one pass.
#[derive(Default)]
struct Pass {
    /// Whether no batch failed.
    is_done: bool,
    /// Number of events sequenced.
    placed: usize,
    /// Whether more events are known to wait.
    is_full: bool,
}

impl Pass {
    /// Returns how long to gather events before the next pass, given the time before this one.
    fn gather(&self, before: Duration) -> Duration {
        let many = if before == GATHER_MANY {
            MANY_OF_MANY
        } else {
            MANY
        };
        if self.is_full {
            Duration::ZERO
        } else if self.placed >= many {
            GATHER_MANY
        } else {
            GATHER
        }
    }
}
