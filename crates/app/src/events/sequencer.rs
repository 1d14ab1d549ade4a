//! From the inbox into the log. Any process does it: at once for what it has committed itself, and once a second for what others
//! have left. Places are given to committed events only, by one writer of a world at a time.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior};
use vestry_domain::audit::control::{ControlAction, ControlEvent, Detail, Outcome, Subject};
use vestry_domain::event::{Actor, EventHead, Fact};
use vestry_domain::webhook::{Delivery, DeliveryState};
use vestry_domain::{Environment, World};
use vestry_ports::store::{Lane, Placed, Queue, Tx};

use super::Source;
use crate::fault::{causes, retried};
use crate::{Fault, Service};

/// How often the inboxes of all are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long events are gathered that share a commit; and where many come, so that those who make them share the database with fewer
/// commits of ours.
const GATHER: Duration = Duration::from_millis(20);
const GATHER_MANY: Duration = Duration::from_millis(100);
/// From how many events on that is so, of those that came while one gathered: 2,500 a second.
const MANY: usize = 50;
const MANY_OF_MANY: usize = 250;
/// Worlds in one transaction at most.
const WORLDS: usize = 64;
/// Events in one transaction at most.
const EVENTS: i64 = 1_000;
/// How long events may be without a place before somebody is told of it.
const ALARM_AFTER: Duration = Duration::from_secs(60);
/// How long one App may keep the others waiting, where each is asked by itself.
const PATIENCE_WITH_ONE: Duration = Duration::from_secs(1);

impl Service {
    /// Gives places until `stop` is done.
    pub async fn run_sequencer(&self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let mut second = tokio::time::interval(LOOK_EVERY);
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut worst = Worst::default();
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
                        tracing::warn!(error = causes(&fault), "the inboxes could not be read");
                    }
                }
            }
            let pass = self.sequence().await;
            gather = pass.gather(gather);
            worst.note(pass.is_done);
        }
        // What is left then is for other processes, or the next start.
        self.sequence().await;
    }

    /// Waits until there may be events to place; whether the inboxes of all are to be looked at.
    async fn gathered(&self, second: &mut Interval, gather: Duration) -> bool {
        let looked = tokio::select! {
            () = self.events.told() => false,
            _ = second.tick() => true,
        };
        tokio::time::sleep(gather).await;
        looked
    }

    /// Gives places until nothing waits; for whoever cannot wait for the one that runs beside the requests.
    ///
    /// # Errors
    /// The inboxes could not be read, or something could not be placed.
    pub async fn sequence_all(&self) -> Result<(), Fault> {
        loop {
            let worlds = self.waiting_worlds().await?;
            if worlds.is_empty() {
                return Ok(());
            }
            self.events.look_again(worlds);
            if !self.sequence().await.is_done {
                return Err(Fault::Unavailable(
                    "events were left without a place".into(),
                ));
            }
        }
    }

    /// Worlds with events in their inboxes, some of them when there are many.
    async fn waiting_worlds(&self) -> Result<Vec<World>, Fault> {
        let found = self.look_for_worlds().await;
        if found.is_ok() || !self.ports.store.is_spread() {
            return found;
        }
        // A server is away. All that there may be is looked at; who is there answers.
        let mut read = self.ports.store.read().await?;
        let apps = read.apps().list().await?;
        let worlds = apps
            .iter()
            .flat_map(|app| Environment::ALL.map(|environment| World::new(app.id, environment)));
        Ok(worlds.collect())
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

    /// One pass over the worlds that are known to wait.
    async fn sequence(&self) -> Pass {
        let worlds: Vec<World> = self.events.take_told().into_iter().collect();
        let mut pass = Pass {
            is_done: true,
            ..Pass::default()
        };
        for batch in self.batches(worlds) {
            let placing = retried(|| self.place_some(&batch));
            let placed = if self.ports.store.is_spread() {
                let placed = tokio::time::timeout(PATIENCE_WITH_ONE, placing).await;
                placed.unwrap_or_else(|_too_long| Err(Fault::Overloaded))
            } else {
                placing.await
            };
            match placed {
                Ok(Batch {
                    again,
                    placed,
                    is_full,
                }) => {
                    self.events.look_again(again);
                    pass.placed += placed;
                    pass.is_full |= is_full;
                }
                // The next look finds them again.
                Err(fault) => {
                    pass.is_done = false;
                    tracing::warn!(error = causes(&fault), "events could not be given places");
                }
            }
        }
        pass
    }

    /// Worlds that may share a transaction: those of one App where Apps lie on several servers.
    fn batches(&self, worlds: Vec<World>) -> Vec<Vec<World>> {
        if self.ports.store.is_spread() {
            let of_one_app = worlds.chunk_by(|one, next| one.app_id == next.app_id);
            return of_one_app.map(<[World]>::to_vec).collect();
        }
        worlds.chunks(WORLDS).map(<[World]>::to_vec).collect()
    }

    /// Gives places in one transaction.
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
                // Somebody is at it, and may have begun before our events were there.
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

    /// Leaves a delivery of each event for every endpoint that it is meant for, in the transaction that gives it its place: no event is
    /// in the log that was forgotten. The queues that have grown.
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
                event_id: placed.mark.id,
                position: placed.mark.position,
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

    /// What the control log says of a log that begins anew: an event has no keyed hash, so it alone proves nothing to a verification.
    async fn entry_of_restart(&self, world: World, log: i64) -> Option<ControlEvent> {
        // A restart is rare enough to wait for the key in the transaction. Without it the log of events goes on all the same.
        if let Err(error) = self.control.make_ready(&world).await {
            let error = causes(&error);
            tracing::error!(error, %world, "the restart of a log of events could not be recorded in the audit log");
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

    /// The head, unless the database is not where this process left it: then the log goes on as another one, whose first event says so.
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
        tracing::error!(
            %world,
            log = end.log,
            ended_at = end.position(),
            found_at = head.position(),
            "ALARM: the database was set back: events that were read may be lost"
        );
        let previous = u64::try_from(end.log.max(head.log)).unwrap_or_default();
        let fact = Fact::log_restarted(previous, head.newest.map(|newest| newest.id));
        let event = self.new_event(&Source::system(world), &fact);
        let log = end.log.max(head.log).saturating_add(1);
        let head = tx.events().restart(head, log, &event).await?;
        let placed = head.newest.map(|mark| Placed {
            mark,
            kind: event.kind,
        });
        Ok((head, placed))
    }
}

/// Whether events are gone that this process has seen in the log.
async fn was_set_back(
    tx: &mut dyn Tx,
    world: World,
    head: &EventHead,
    end: &EventHead,
) -> Result<bool, Fault> {
    if head.log != end.log {
        // Of a later log another process has said so already.
        return Ok(head.log < end.log);
    }
    let Some(newest) = end.newest else {
        return Ok(false);
    };
    if head.position() <= newest.position {
        return Ok(head.newest != end.newest);
    }
    // It went on meanwhile; from there, unless that event is another one. One that is gone by now was old.
    let there = tx.events().at(&world, newest.position).await?;
    Ok(there.is_some_and(|there| there != newest))
}

/// What one transaction did.
struct Batch {
    /// The worlds that are to be looked at again.
    again: BTreeSet<World>,
    /// Events that got their places.
    placed: usize,
    /// Whether there was no room for more.
    is_full: bool,
}

/// What one pass did.
#[derive(Default)]
struct Pass {
    /// Whether all was placed that could be.
    is_done: bool,
    /// Events that got their places.
    placed: usize,
    /// Whether more is known to wait.
    is_full: bool,
}

impl Pass {
    /// How long events are gathered before the next one, where they were for so long before this one.
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

/// Since when not everything could be placed, and whether somebody was told.
#[derive(Default)]
struct Worst {
    since: Option<Instant>,
    told: bool,
}

impl Worst {
    fn note(&mut self, is_done: bool) {
        if is_done {
            *self = Self::default();
            return;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= ALARM_AFTER && !self.told {
            self.told = true;
            tracing::error!(
                "ALARM: events have been without a place for a minute; whoever reads or is sent events gets none"
            );
        }
    }
}
