//! Messages that wait for delivery, and those that the test environment captured.

use vestry_domain::ids::{AppId, JobId, MessageId};
use vestry_domain::message::{CapturedMessage, JobEnd, OutboxJob};
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// Jobs of the outbox. Delivery is at least once: a worker that dies after the transport took the message sends it again.
#[port]
pub trait Outbox: Send {
    /// Adds a job, in the transaction of what it belongs to.
    async fn push(&mut self, job: &OutboxJob) -> StoreResult<()>;
    /// Takes up to `limit` jobs whose time has come and that nobody holds, oldest first, counts the try and leases them
    /// to `owner` until `lease_until`. Two workers never get the same job. A job past its `deliver_before` is handed out too,
    /// so that it can be ended as expired.
    async fn claim(
        &mut self,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>>;
    /// Up to `limit` Apps that have such jobs, those first whose jobs have waited longest.
    async fn apps_due(&mut self, now: Timestamp, limit: i64) -> StoreResult<Vec<AppId>>;
    /// [`Outbox::claim`] of one App alone, where Apps lie on several servers.
    async fn claim_of(
        &mut self,
        app: AppId,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>>;
    /// Ends a job that `owner` holds and wipes its payload; `false` when the lease was lost.
    async fn finish(
        &mut self,
        world: &World,
        id: JobId,
        owner: &str,
        end: JobEnd,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Gives a job back for another try at the given moment; `false` when the lease was lost.
    async fn retry(
        &mut self,
        world: &World,
        id: JobId,
        owner: &str,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Jobs that have not ended, by world-independent count: for metrics and for tests that drain.
    async fn waiting(&mut self) -> StoreResult<i64>;
    /// Deletes ended jobs older than the given moment; returns how many.
    async fn sweep(&mut self, ended_before: Timestamp) -> StoreResult<u64>;
}

/// What `GET /v1/test/messages` asks for.
#[derive(Debug, Clone, Default)]
pub struct CapturedFilter {
    /// This recipient, as `vestry_domain::message::compared_recipient` returns it.
    pub to: Option<String>,
    /// Exactly this kind.
    pub kind: Option<String>,
    /// Only messages after this one.
    pub after: Option<MessageId>,
    /// At most so many.
    pub limit: i64,
}

/// Captured messages of test worlds.
#[port]
pub trait Captured: Send {
    /// Keeps a message. The id is derived from its job, so that a second capture of one job is the same row and does nothing.
    async fn insert(&mut self, message: &CapturedMessage) -> StoreResult<()>;
    /// Messages that fit, newest first; those of one second in the order in which they came, because a test that asked for
    /// two codes takes the first of the list for the second one. `after` need not be there any more: then its time counts.
    async fn list(
        &mut self,
        world: &World,
        filter: &CapturedFilter,
    ) -> StoreResult<Vec<CapturedMessage>>;
    /// Deletes all of a world; returns how many.
    async fn clear(&mut self, world: &World) -> StoreResult<u64>;
    /// Deletes what was captured before the given moment, in all worlds; returns how many.
    async fn sweep(&mut self, captured_before: Timestamp) -> StoreResult<u64>;
}
