//! Authenticator apps and their recovery codes.

use vestry_domain::ids::{TotpId, UserId};
use vestry_domain::totp::{StoredRecoveryCode, Totp};
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{StoreResult, SweptWorlds};

/// Authenticator apps. Every method stays within the given world.
#[port]
pub trait Totps: Send {
    /// Adds an authenticator app that waits for its first code, with its recovery codes. It replaces any other unverified one of the same
    /// user: a unique index allows at most one. Until the transaction ends, no other one can be added for the user.
    async fn replace_waiting(
        &mut self,
        totp: &Totp,
        recovery_codes: &[StoredRecoveryCode],
    ) -> StoreResult<()>;
    /// The number of verified authenticator apps of the user.
    async fn count_verified(&mut self, world: &World, user: UserId) -> StoreResult<i64>;
    /// Returns an authenticator app.
    async fn find(&mut self, world: &World, id: TotpId) -> StoreResult<Option<Totp>>;
    /// All authenticator apps of a user, oldest first, including expired ones.
    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<Totp>>;
    /// Accepts the first code: marks the app as verified and the step as used, if the app is waiting (`now < expires_at`). `false` if it
    /// was verified, has expired or does not exist. One guarded statement.
    async fn confirm(
        &mut self,
        world: &World,
        id: TotpId,
        step: i64,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Accepts a code of a verified authenticator app; `false` if this step or a later one was already used. One guarded statement
    /// (OTP-12).
    async fn accept(&mut self, world: &World, id: TotpId, step: i64) -> StoreResult<bool>;
    /// The recovery codes of all authenticator apps of a user, used or not, in order.
    async fn recovery_codes(
        &mut self,
        world: &World,
        user: UserId,
    ) -> StoreResult<Vec<(TotpId, StoredRecoveryCode)>>;
    /// Consumes a recovery code and erases it; `false` if it was used or does not exist. One guarded statement (OTP-13).
    async fn use_recovery_code(
        &mut self,
        world: &World,
        id: TotpId,
        number: u32,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Removes an authenticator app with its recovery codes; `false` if there is none.
    async fn remove(&mut self, world: &World, id: TotpId) -> StoreResult<bool>;
    /// Removes all authenticator apps of a user with their recovery codes; returns how many.
    async fn remove_all(&mut self, world: &World, user: UserId) -> StoreResult<u64>;
    /// Deletes authenticator apps of some worlds that expired before the given time without a first code; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64>;
}
