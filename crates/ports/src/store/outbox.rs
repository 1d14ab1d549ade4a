//! Messages waiting for delivery, and messages captured by the test environment.

use vestry_domain::ids::{AppId, JobId, MessageId};
use vestry_domain::message::{
    CapturedMessage, Channel, DeadJob, JobEnd, JobFault, OutboxJob, OutboxQueue, Priority,
};
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// The number at which [`Outbox::backlog`] stops counting.
pub const MAX_COUNTED: i64 = 10_000;

/// Jobs of a channel and priority that have not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// The channel.
    pub channel: Channel,
    /// The urgency.
    pub priority: Priority,
    /// Their number, at most [`MAX_COUNTED`].
    pub waiting: i64,
    /// Since when the oldest due one is due; `None` if none is.
    pub due_since: Option<Timestamp>,
}

/// The most jobs that a claim with this limit takes from one lane while others have due jobs.
pub fn lane_share(limit: i64) -> i64 {
    (limit / 4).max(1)
}

/// Jobs of the outbox. Delivery is at least once: if a worker dies after the transport accepted a message, it is sent again.
#[port]
pub trait Outbox: Send {
    /// Adds a job, in the transaction that it belongs to.
    async fn push(&mut self, job: &OutboxJob) -> StoreResult<()>;
    /// Claims up to `limit` due jobs of a queue without a lease, counts the attempt and leases them to `owner` until `lease_until`. Two
    /// workers never get the same job. A job past its `deliver_before` is returned too, so that it can be ended as expired.
    ///
    /// Urgent jobs come first, then old ones, but at most a quarter of the limit comes from one lane while other lanes have due jobs
    /// ([`vestry_domain::message::lane_of`]).
    async fn claim(
        &mut self,
        queue: OutboxQueue,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>>;
    /// Up to `limit` Apps that have such jobs, those with the most urgent ones first, then those whose jobs have waited longest.
    async fn apps_due(
        &mut self,
        queue: OutboxQueue,
        now: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<AppId>>;
    /// [`Outbox::claim`] for a single App, for when Apps are distributed over several servers.
    async fn claim_of(
        &mut self,
        app: AppId,
        queue: OutboxQueue,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>>;
    /// Ends a job that `owner` has leased and erases its payload; `false` if the lease was lost.
    async fn finish(
        &mut self,
        world: &World,
        id: JobId,
        owner: &str,
        end: JobEnd,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Releases a job for another attempt at the given time; `false` if the lease was lost.
    async fn retry(
        &mut self,
        world: &World,
        id: JobId,
        owner: &str,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Releases a job that was not attempted: it is due again, and the attempt is not counted. `false` if the lease was lost.
    async fn give_back(&mut self, world: &World, id: JobId, owner: &str) -> StoreResult<bool>;
    /// Records that a job failed because of itself, and releases it for another attempt at the given time. Without one the job ends as
    /// [`JobEnd::Dead`] and keeps its payload. `false` if the lease was lost.
    async fn fail(
        &mut self,
        world: &World,
        id: JobId,
        owner: &str,
        fault: JobFault,
        again: Option<Timestamp>,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Up to `limit` dead jobs of a world, newest first.
    async fn dead(&mut self, world: &World, limit: i64) -> StoreResult<Vec<DeadJob>>;
    /// A dead job.
    async fn find_dead(&mut self, world: &World, id: JobId) -> StoreResult<Option<DeadJob>>;
    /// Queues a dead job again, as if it had never failed; `false` if it is not dead, or can no longer be delivered in time.
    async fn revive(&mut self, world: &World, id: JobId, now: Timestamp) -> StoreResult<bool>;
    /// Deletes a dead job; `false` if there is none.
    async fn drop_dead(&mut self, world: &World, id: JobId) -> StoreResult<bool>;
    /// The worlds, channels and priorities with more than `most` jobs that have not ended.
    async fn crowded(&mut self, most: i64) -> StoreResult<Vec<(World, Channel, Priority)>>;
    /// For each channel and priority with jobs that have not ended: their number up to [`MAX_COUNTED`], and the oldest due one.
    async fn backlog(&mut self, now: Timestamp) -> StoreResult<Vec<Backlog>>;
    /// Number of jobs of all worlds that have not ended: for metrics, and for tests that wait for an empty outbox.
    async fn waiting(&mut self) -> StoreResult<i64>;
    /// Deletes jobs that ended before the given time; returns how many.
    async fn sweep(&mut self, ended_before: Timestamp) -> StoreResult<u64>;
}

/// The filter of `GET /v1/test/messages`.
#[derive(Debug, Clone, Default)]
pub struct CapturedFilter {
    /// This recipient, as `vestry_domain::message::compared_recipient` returns it.
    pub to: Option<String>,
    /// Exactly this kind.
    pub kind: Option<String>,
    /// Only messages after this one.
    pub after: Option<MessageId>,
    /// At most this many.
    pub limit: i64,
}

/// Captured messages of test worlds.
#[port]
pub trait Captured: Send {
    /// Stores a message. Its id is derived from its job, so capturing the same job again changes nothing.
    async fn insert(&mut self, message: &CapturedMessage) -> StoreResult<()>;
    /// Matching messages, newest first, and those of the same second in their order of arrival. A test that requests two codes expects the
    /// second one first in the list. `after` need not exist; its time still counts.
    async fn list(
        &mut self,
        world: &World,
        filter: &CapturedFilter,
    ) -> StoreResult<Vec<CapturedMessage>>;
    /// Deletes all messages of a world; returns how many.
    async fn clear(&mut self, world: &World) -> StoreResult<u64>;
    /// Deletes messages captured before the given time, in all worlds; returns how many.
    async fn sweep(&mut self, captured_before: Timestamp) -> StoreResult<u64>;
}
