//! Passkeys, user handles, and the challenges of ceremonies.

use vestry_domain::ids::{UserId, WebauthnCredentialId};
use vestry_domain::passkey::{Ceremony, Passkey, PasskeyChallenge, UserHandle};
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{Attached, StoreResult, SweptWorlds};

/// What one use of a passkey changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasskeyUse {
    /// The authenticator's new count of signatures; 0 where it does not count.
    pub sign_count: u32,
    /// Whether the key is backed up now (BS).
    pub backed_up: bool,
    /// When.
    pub at: Timestamp,
}

/// Passkeys. Every method but the sweep stays within the given world.
#[port]
pub trait Passkeys: Send {
    /// The handle of a user; `fresh` becomes it when the user has none yet. One statement decides between parallel calls.
    async fn handle_or(
        &mut self,
        world: &World,
        user: UserId,
        fresh: UserHandle,
    ) -> StoreResult<UserHandle>;
    /// The handle of a user, if it has one.
    async fn handle(&mut self, world: &World, user: UserId) -> StoreResult<Option<UserHandle>>;

    /// Adds a passkey, decided by the unique index on the authenticator's credential id (W-3).
    async fn insert(&mut self, passkey: &Passkey) -> StoreResult<Attached>;
    /// A passkey by its id.
    async fn find(
        &mut self,
        world: &World,
        id: WebauthnCredentialId,
    ) -> StoreResult<Option<Passkey>>;
    /// A passkey by the authenticator's credential id.
    async fn find_by_credential(
        &mut self,
        world: &World,
        credential_id: &[u8],
    ) -> StoreResult<Option<Passkey>>;
    /// The passkeys of a user, oldest first.
    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<Passkey>>;
    /// Writes a use, if the passkey is there and its stored count may be followed by the new one
    /// ([`Passkey::may_count`]); `false` otherwise. One guarded statement.
    async fn record_use(
        &mut self,
        world: &World,
        id: WebauthnCredentialId,
        usage: PasskeyUse,
    ) -> StoreResult<bool>;
    /// Removes a passkey; `false` when there is none.
    async fn remove(&mut self, world: &World, id: WebauthnCredentialId) -> StoreResult<bool>;
    /// Removes all passkeys of a user, the handle, and the challenges that wait for this user; returns how many passkeys.
    async fn remove_all(&mut self, world: &World, user: UserId) -> StoreResult<u64>;

    /// Adds a challenge.
    async fn add_challenge(&mut self, challenge: &PasskeyChallenge) -> StoreResult<()>;
    /// A challenge by its hash, dead or not.
    async fn challenge(
        &mut self,
        world: &World,
        hash: &TokenHash,
    ) -> StoreResult<Option<PasskeyChallenge>>;
    /// Uses a challenge up; `false` when it is not there, for another ceremony, or dead at `now`. One guarded statement (W-1).
    async fn consume_challenge(
        &mut self,
        world: &World,
        hash: &TokenHash,
        ceremony: Ceremony,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Deletes challenges that died before the given moment, in some worlds; returns how many.
    async fn sweep_challenges(
        &mut self,
        worlds: &SweptWorlds,
        expired_before: Timestamp,
    ) -> StoreResult<u64>;
}
