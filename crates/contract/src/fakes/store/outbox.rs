//! Pending messages, and captured ones.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use vestry_domain::ids::{AppId, JobId};
use vestry_domain::message::{
    CapturedMessage, Channel, DeadJob, JobEnd, JobFault, OutboxJob, OutboxQueue, Priority,
    compared_recipient, lane_of,
};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{
    Backlog, Captured, CapturedFilter, CommitEffect, MAX_COUNTED, Outbox, StoreResult, lane_share,
};

use super::Work;
use super::state::{Lease, OutboxRow, State, add, at_most, remove, remove_few};

impl OutboxRow {
    fn is_free(&self, now: Timestamp) -> bool {
        let held = self.lease.as_ref().is_some_and(|lease| now < lease.until);
        self.ended_at.is_none() && self.job.not_before <= now && !held
    }

    fn dead(&self) -> Option<DeadJob> {
        let (job, died_at, fault) = (&self.job, self.ended_at?, self.fault?);
        self.is_dead.then_some(DeadJob {
            id: job.id,
            world: job.world,
            channel: job.channel,
            priority: job.priority,
            attempts: job.attempts,
            fault,
            cause: job.cause.clone(),
            created_at: job.created_at,
            deliver_before: job.deliver_before,
            died_at,
        })
    }

    fn is_held_by(&self, owner: &str) -> bool {
        let owners = self.lease.as_ref().map(|lease| lease.owner.as_str());
        self.ended_at.is_none() && owners == Some(owner)
    }
}

impl State {
    fn held(&mut self, world: World, id: JobId, owner: &str) -> Option<&mut OutboxRow> {
        let mut rows = self.jobs.iter_mut();
        rows.find(|row| row.job.world == world && row.job.id == id && row.is_held_by(owner))
    }

    /// Leases the matching free jobs: one share of each lane before the next share of any, and urgent ones before old ones.
    fn lease(
        &mut self,
        owner: &str,
        now: Timestamp,
        until: Timestamp,
        limit: i64,
        is_wanted: impl Fn(&OutboxJob) -> bool,
    ) -> Vec<OutboxJob> {
        let order = |job: &OutboxJob| (job.priority, job.not_before, job.id);
        let rows = self.jobs.iter_mut();
        let mut free: Vec<_> = rows
            .filter(|row| row.is_free(now) && is_wanted(&row.job))
            .collect();
        free.sort_by_key(|row| order(&row.job));
        let mut of_lanes: HashMap<u8, i64> = HashMap::new();
        let mut in_rounds: Vec<_> = free
            .into_iter()
            .map(|row| {
                let before = of_lanes.entry(lane_of(row.job.world.app_id)).or_default();
                let round = *before / lane_share(limit);
                *before += 1;
                (round, row)
            })
            .collect();
        // A stable sort.
        in_rounds.sort_by_key(|(round, _)| *round);
        let leased = in_rounds.into_iter().take(at_most(limit)).map(|(_, row)| {
            row.job.attempts = row.job.attempts.saturating_add(1);
            row.lease = Some(Lease {
                owner: owner.to_owned(),
                until,
            });
            row.job.clone()
        });
        let mut leased: Vec<_> = leased.collect();
        leased.sort_by_key(order);
        leased
    }
}

#[port]
impl Outbox for Work {
    async fn push(&mut self, job: &OutboxJob) -> StoreResult<()> {
        self.effects.insert(CommitEffect::Messages(job.queue()));
        self.writing(|state| {
            let row = OutboxRow {
                job: job.clone(),
                lease: None,
                ended_at: None,
                is_dead: false,
                fault: None,
            };
            add(&mut state.jobs, row, |a, b| {
                (a.job.world, a.job.id) == (b.job.world, b.job.id)
            })
        })
    }

    async fn claim(
        &mut self,
        queue: OutboxQueue,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>> {
        let is_in_it = |job: &OutboxJob| job.queue() == queue;
        self.writing(|state| Ok(state.lease(owner, now, lease_until, limit, is_in_it)))
    }

    async fn apps_due(
        &mut self,
        queue: OutboxQueue,
        now: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<AppId>> {
        self.reading(|state| {
            let rows = state.jobs.iter();
            let free = rows.filter(|row| row.is_free(now) && row.job.queue() == queue);
            let mut firsts: HashMap<AppId, (Priority, Timestamp)> = HashMap::new();
            for OutboxRow { job, .. } in free {
                let first = firsts.entry(job.world.app_id);
                let first = first.or_insert((job.priority, job.not_before));
                *first = (first.0.min(job.priority), first.1.min(job.not_before));
            }
            let mut apps: Vec<_> = firsts.into_iter().collect();
            apps.sort_by_key(|(_, first)| *first);
            apps.truncate(at_most(limit));
            apps.into_iter().map(|(app, _)| app).collect()
        })
    }

    async fn claim_of(
        &mut self,
        app: AppId,
        queue: OutboxQueue,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>> {
        let is_of_it = |job: &OutboxJob| job.world.app_id == app && job.queue() == queue;
        self.writing(|state| Ok(state.lease(owner, now, lease_until, limit, is_of_it)))
    }

    async fn finish(
        &mut self,
        world: &World,
        id: JobId,
        owner: &str,
        _end: JobEnd,
        at: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let Some(row) = state.held(*world, id, owner) else {
                return Ok(false);
            };
            row.job.payload.bytes.clear();
            row.ended_at = Some(at);
            Ok(true)
        })
    }

    async fn retry(
        &mut self,
        world: &World,
        id: JobId,
        owner: &str,
        at: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let Some(row) = state.held(*world, id, owner) else {
                return Ok(false);
            };
            row.lease = None;
            row.job.not_before = at;
            Ok(true)
        })
    }

    async fn give_back(&mut self, world: &World, id: JobId, owner: &str) -> StoreResult<bool> {
        self.writing(|state| {
            let Some(row) = state.held(*world, id, owner) else {
                return Ok(false);
            };
            row.lease = None;
            row.job.attempts = row.job.attempts.saturating_sub(1);
            Ok(true)
        })
    }

    async fn fail(
        &mut self,
        world: &World,
        id: JobId,
        owner: &str,
        fault: JobFault,
        again: Option<Timestamp>,
        at: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let Some(row) = state.held(*world, id, owner) else {
                return Ok(false);
            };
            row.lease = None;
            row.job.failures += 1;
            row.fault = Some(fault);
            match again {
                Some(again) => row.job.not_before = again,
                None => (row.is_dead, row.ended_at) = (true, Some(at)),
            }
            Ok(true)
        })
    }

    async fn dead(&mut self, world: &World, limit: i64) -> StoreResult<Vec<DeadJob>> {
        self.reading(|state| {
            let rows = state.jobs.iter().filter(|row| row.job.world == *world);
            let mut dead: Vec<_> = rows.filter_map(OutboxRow::dead).collect();
            dead.sort_by_key(|job| Reverse((job.died_at, job.id)));
            dead.truncate(at_most(limit));
            dead
        })
    }

    async fn find_dead(&mut self, world: &World, id: JobId) -> StoreResult<Option<DeadJob>> {
        self.reading(|state| {
            let mut rows = state.jobs.iter();
            let row = rows.find(|row| row.job.world == *world && row.job.id == id);
            row.and_then(OutboxRow::dead)
        })
    }

    async fn revive(&mut self, world: &World, id: JobId, now: Timestamp) -> StoreResult<bool> {
        self.writing(|state| {
            let mut rows = state.jobs.iter_mut();
            let Some(row) = rows.find(|row| {
                let is_it = row.job.world == *world && row.job.id == id;
                is_it && row.is_dead && row.job.deliver_before > now
            }) else {
                return Ok(false);
            };
            (row.is_dead, row.ended_at, row.fault) = (false, None, None);
            (row.job.failures, row.job.not_before) = (0, now);
            Ok(true)
        })
    }

    async fn drop_dead(&mut self, world: &World, id: JobId) -> StoreResult<bool> {
        self.writing(|state| {
            let is_it =
                |row: &OutboxRow| row.is_dead && row.job.world == *world && row.job.id == id;
            Ok(remove(&mut state.jobs, is_it) == 1)
        })
    }

    async fn crowded(&mut self, most: i64) -> StoreResult<Vec<(World, Channel, Priority)>> {
        self.reading(|state| {
            let mut counts: HashMap<(World, Channel, Priority), i64> = HashMap::new();
            for row in state.jobs.iter().filter(|row| row.ended_at.is_none()) {
                let key = (row.job.world, row.job.channel, row.job.priority);
                *counts.entry(key).or_default() += 1;
            }
            let crowded = counts.into_iter().filter(|(_, count)| *count > most);
            crowded.map(|(key, _)| key).collect()
        })
    }

    async fn backlog(&mut self, now: Timestamp) -> StoreResult<Vec<Backlog>> {
        self.reading(|state| {
            let mut backlog: BTreeMap<(Channel, Priority), Backlog> = BTreeMap::new();
            for row in state.jobs.iter().filter(|row| row.ended_at.is_none()) {
                let (channel, priority) = (row.job.channel, row.job.priority);
                let of = backlog.entry((channel, priority)).or_insert(Backlog {
                    channel,
                    priority,
                    waiting: 0,
                    due_since: None,
                });
                of.waiting = (of.waiting + 1).min(MAX_COUNTED);
                if row.is_free(now) {
                    let due = row.job.not_before;
                    of.due_since = Some(of.due_since.map_or(due, |other| other.min(due)));
                }
            }
            backlog.into_values().collect()
        })
    }

    async fn waiting(&mut self) -> StoreResult<i64> {
        self.reading(|state| {
            let waiting = state.jobs.iter().filter(|row| row.ended_at.is_none());
            i64::try_from(waiting.count()).unwrap_or(i64::MAX)
        })
    }

    async fn sweep(&mut self, ended_before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let is_old = |row: &OutboxRow| row.ended_at.is_some_and(|at| at < ended_before);
            Ok(remove_few(&mut state.jobs, is_old))
        })
    }
}

#[port]
impl Captured for Work {
    async fn insert(&mut self, message: &CapturedMessage) -> StoreResult<()> {
        self.writing(|state| {
            let mut rows = state.captured.iter();
            if !rows.any(|row| row.world == message.world && row.id == message.id) {
                state.captured.push(message.clone());
            }
            Ok(())
        })
    }

    async fn list(
        &mut self,
        world: &World,
        filter: &CapturedFilter,
    ) -> StoreResult<Vec<CapturedMessage>> {
        self.reading(|state| {
            let mut rows: Vec<_> = state.captured.iter().collect();
            rows.retain(|row| row.world == *world);
            // A stable sort: jobs of one second keep their insertion order.
            rows.sort_by_key(|row| row.created_at);
            if let Some(after) = filter.after {
                let place = rows.iter().position(|row| row.id == after);
                let first = place.map_or_else(
                    || rows.partition_point(|row| row.created_at <= after.timestamp()),
                    |place| place + 1,
                );
                rows.drain(..first);
            }
            let fitting = rows.into_iter().rev().filter(|row| fits(row, filter));
            fitting.take(at_most(filter.limit)).cloned().collect()
        })
    }

    async fn clear(&mut self, world: &World) -> StoreResult<u64> {
        self.writing(|state| Ok(remove(&mut state.captured, |row| row.world == *world)))
    }

    async fn sweep(&mut self, captured_before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let old = |row: &CapturedMessage| row.created_at < captured_before;
            Ok(remove_few(&mut state.captured, old))
        })
    }
}

fn fits(row: &CapturedMessage, filter: &CapturedFilter) -> bool {
    let to = filter.to.as_ref();
    let to = to.is_none_or(|to| compared_recipient(&row.message.to) == *to);
    let kind = row.message.kind.as_str();
    to && filter.kind.as_ref().is_none_or(|wanted| wanted == kind)
}
