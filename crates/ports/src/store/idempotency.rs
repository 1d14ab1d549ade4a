//! Idempotency keys, and the responses stored for them.

use vestry_domain::envelope::Sealed;
use vestry_domain::idempotency::{Claim, KeyDigest, KnownKey};
use vestry_domain::ids::UserId;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{StoreResult, SweptWorlds};

/// Idempotency keys. Every method stays within the given world. `now` is the time of the world, `machine` that of the machine.
#[port]
pub trait Idempotency: Send {
    /// Claims a key that is unused or has expired at `now`; anything stored under it is deleted. `None` if it was claimed, otherwise the
    /// stored state of the key. One guarded statement.
    async fn claim(&mut self, claim: &Claim, now: Timestamp) -> StoreResult<Option<KnownKey>>;
    /// Takes over from a run without a response whose lease has ended at `machine`. The claim's holder and lease replace those of `silent`;
    /// everything else stays. Of several concurrent calls, one succeeds. One guarded statement.
    async fn take_over(
        &mut self,
        claim: &Claim,
        silent: &str,
        machine: Timestamp,
    ) -> StoreResult<bool>;
    /// Extends the lease of a run without a response; `false` if the run no longer holds the key.
    async fn renew(
        &mut self,
        world: &World,
        key: &KeyDigest,
        holder: &str,
        lease_until: Timestamp,
    ) -> StoreResult<bool>;
    /// Stores the response of a run, with the user it is about. `false` if the run no longer holds the key, or the key already has a
    /// response. One guarded statement.
    async fn finish(
        &mut self,
        world: &World,
        key: &KeyDigest,
        holder: &str,
        answer: &Sealed,
        about: Option<UserId>,
    ) -> StoreResult<bool>;
    /// Erases the responses about a user, and returns how many. Their keys stay claimed, each by a run whose lease has ended and whose
    /// request may run again, and record that a response was erased.
    async fn erase(&mut self, world: &World, user: UserId) -> StoreResult<u64>;
    /// Releases the key of a run without a response, as if it had never been used; `false` if the run no longer holds it. If a response was
    /// erased under the key, the key keeps that record, and only the lease ends.
    async fn release(&mut self, world: &World, key: &KeyDigest, holder: &str) -> StoreResult<bool>;
    /// Deletes keys of some worlds that expired before the given time; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64>;
}
