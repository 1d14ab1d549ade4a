//! Authenticator apps and their recovery codes.

use vestry_domain::ids::{TotpId, UserId};
use vestry_domain::totp::{StoredRecoveryCode, Totp};
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{StoreResult, SweptWorlds};

/// Authenticator apps. Every method stays within the given world.
#[port]
pub trait Totps: Send {
    /// Adds an authenticator app that waits for its first code, with its recovery codes, in the place of any other of the
    /// same user that still waits: there is at most one, decided by a unique index. Until the transaction ends no other one
    /// is added for the user.
    async fn replace_waiting(
        &mut self,
        totp: &Totp,
        recovery_codes: &[StoredRecoveryCode],
    ) -> StoreResult<()>;
    /// How many verified ones the user has.
    async fn count_verified(&mut self, world: &World, user: UserId) -> StoreResult<i64>;
    /// One authenticator app.
    async fn find(&mut self, world: &World, id: TotpId) -> StoreResult<Option<Totp>>;
    /// All of a user, oldest first; expired ones too.
    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<Totp>>;
    /// Takes the first code: marks it as verified and the step as used, if it waits (`now < expires_at`). `false` when it was
    /// verified, has expired or is gone. One guarded statement.
    async fn confirm(
        &mut self,
        world: &World,
        id: TotpId,
        step: i64,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Takes a code of a verified one: `false` when this step or a later one was taken before. One guarded statement (OTP-12).
    async fn accept(&mut self, world: &World, id: TotpId, step: i64) -> StoreResult<bool>;
    /// The recovery codes of all authenticator apps of a user, used or not, in order.
    async fn recovery_codes(
        &mut self,
        world: &World,
        user: UserId,
    ) -> StoreResult<Vec<(TotpId, StoredRecoveryCode)>>;
    /// Uses a recovery code up and wipes it; `false` when it is used or gone. One guarded statement (OTP-13).
    async fn use_recovery_code(
        &mut self,
        world: &World,
        id: TotpId,
        number: u32,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Removes one with its recovery codes; `false` when there is none.
    async fn remove(&mut self, world: &World, id: TotpId) -> StoreResult<bool>;
    /// Removes all of a user with their recovery codes; returns how many.
    async fn remove_all(&mut self, world: &World, user: UserId) -> StoreResult<u64>;
    /// Deletes those that expired before the given moment without a code, in some worlds; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64>;
}
