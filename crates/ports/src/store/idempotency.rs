//! Keys under which requests are sent again, and the answers that are kept for them.

use vestry_domain::envelope::Sealed;
use vestry_domain::idempotency::{Claim, KeyDigest, KnownKey};
use vestry_domain::ids::UserId;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{StoreResult, SweptWorlds};

/// Idempotency keys. Every method stays within the world that it is given. `now` is the time of the world, `machine`
/// that of the machine.
#[port]
pub trait Idempotency: Send {
    /// Takes a key that nobody has, or that has expired at `now`; whatever was kept under it is gone then. `None` when it
    /// was taken, else what is known of it. One guarded statement decides.
    async fn claim(&mut self, claim: &Claim, now: Timestamp) -> StoreResult<Option<KnownKey>>;
    /// Takes the place of a run without an answer whose lease has ended at `machine`: the claim's holder and lease take
    /// that of `silent`, everything else stays. Of many that try, one succeeds. One guarded statement.
    async fn take_over(
        &mut self,
        claim: &Claim,
        silent: &str,
        machine: Timestamp,
    ) -> StoreResult<bool>;
    /// Moves the end of the lease of a run without an answer; `false` when the key is not this run's any more.
    async fn renew(
        &mut self,
        world: &World,
        key: &KeyDigest,
        holder: &str,
        lease_until: Timestamp,
    ) -> StoreResult<bool>;
    /// Keeps the answer of a run, with the user it is about; `false` when the key is not this run's any more, or has one. One guarded statement.
    async fn finish(
        &mut self,
        world: &World,
        key: &KeyDigest,
        holder: &str,
        answer: &Sealed,
        about: Option<UserId>,
    ) -> StoreResult<bool>;
    /// Erases the answers about a user, and returns how many. Their keys stay taken, each by a run whose lease has ended and whose
    /// request may run again, and remember that an answer was erased.
    async fn erase(&mut self, world: &World, user: UserId) -> StoreResult<u64>;
    /// Gives the key of a run without an answer back, as if it had never been used; `false` when it is not this run's any more. If an
    /// answer was erased under the key, the key remembers that, and only the lease ends.
    async fn release(&mut self, world: &World, key: &KeyDigest, holder: &str) -> StoreResult<bool>;
    /// Deletes what expired before the given moment, in some worlds; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64>;
}
