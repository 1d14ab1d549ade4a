//! Pending messages, and captured ones.

use vestry_domain::ids::{AppId, JobId};
use vestry_domain::message::{CapturedMessage, JobEnd, OutboxJob, compared_recipient};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Captured, CapturedFilter, CommitEffect, Outbox, StoreResult};

use super::Work;
use super::state::{Lease, OutboxRow, State, add, at_most, remove, remove_few};

impl OutboxRow {
    fn is_free(&self, now: Timestamp) -> bool {
        let held = self.lease.as_ref().is_some_and(|lease| now < lease.until);
        self.ended_at.is_none() && self.job.not_before <= now && !held
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

    /// Leases the matching free jobs, oldest first.
    fn lease(
        &mut self,
        owner: &str,
        now: Timestamp,
        until: Timestamp,
        limit: i64,
        is_wanted: impl Fn(&OutboxJob) -> bool,
    ) -> Vec<OutboxJob> {
        let rows = self.jobs.iter_mut();
        let mut free: Vec<_> = rows
            .filter(|row| row.is_free(now) && is_wanted(&row.job))
            .collect();
        free.sort_by_key(|row| row.job.id);
        let leased = free.into_iter().take(at_most(limit)).map(|row| {
            row.job.attempts = row.job.attempts.saturating_add(1);
            row.lease = Some(Lease {
                owner: owner.to_owned(),
                until,
            });
            row.job.clone()
        });
        leased.collect()
    }
}

#[port]
impl Outbox for Work {
    async fn push(&mut self, job: &OutboxJob) -> StoreResult<()> {
        self.effects.insert(CommitEffect::Messages);
        self.writing(|state| {
            let row = OutboxRow {
                job: job.clone(),
                lease: None,
                ended_at: None,
            };
            add(&mut state.jobs, row, |a, b| {
                (a.job.world, a.job.id) == (b.job.world, b.job.id)
            })
        })
    }

    async fn claim(
        &mut self,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>> {
        self.writing(|state| Ok(state.lease(owner, now, lease_until, limit, |_job| true)))
    }

    async fn apps_due(&mut self, now: Timestamp, limit: i64) -> StoreResult<Vec<AppId>> {
        self.reading(|state| {
            let rows = state.jobs.iter();
            let mut free: Vec<_> = rows.filter(|row| row.is_free(now)).collect();
            free.sort_by_key(|row| row.job.not_before);
            let mut apps: Vec<AppId> = Vec::new();
            for row in free {
                let app = row.job.world.app_id;
                if !apps.contains(&app) {
                    apps.push(app);
                }
            }
            apps.truncate(at_most(limit));
            apps
        })
    }

    async fn claim_of(
        &mut self,
        app: AppId,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>> {
        let is_of_it = |job: &OutboxJob| job.world.app_id == app;
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
