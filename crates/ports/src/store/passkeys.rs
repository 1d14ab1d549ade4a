//! Passkeys, user handles, and the challenges of ceremonies.

use vestry_domain::ids::{UserId, WebauthnCredentialId};
use vestry_domain::passkey::{Ceremony, Passkey, PasskeyChallenge, UserHandle};
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{Attached, StoreResult, SweptWorlds};

/// The changes made by one use of a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasskeyUse {
    /// The authenticator's new signature counter; 0 if it does not count.
    pub sign_count: u32,
    /// Whether the key is backed up now (BS).
    pub backed_up: bool,
    /// The time of the use.
    pub at: Timestamp,
}

/// Passkeys. Every method but the sweep stays within the given world.
#[port]
pub trait Passkeys: Send {
    /// The handle of a user, set to `fresh` if the user has none yet. One statement decides between parallel calls.
    async fn handle_or(
        &mut self,
        world: &World,
        user: UserId,
        fresh: UserHandle,
    ) -> StoreResult<UserHandle>;
    /// The handle of a user, if it has one.
    async fn handle(&mut self, world: &World, user: UserId) -> StoreResult<Option<UserHandle>>;

    /// Adds a passkey; the unique index on the authenticator's credential id decides (W-3).
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
    /// Records a use, if the passkey exists and its stored counter can be followed by the new one ([`Passkey::may_count`]); `false`
    /// otherwise. One guarded statement.
    async fn record_use(
        &mut self,
        world: &World,
        id: WebauthnCredentialId,
        usage: PasskeyUse,
    ) -> StoreResult<bool>;
    /// Removes a passkey; `false` if there is none.
    async fn remove(&mut self, world: &World, id: WebauthnCredentialId) -> StoreResult<bool>;
    /// Removes all passkeys of a user, their handle, and their pending challenges; returns the number of passkeys.
    async fn remove_all(&mut self, world: &World, user: UserId) -> StoreResult<u64>;

    /// Adds a challenge.
    async fn add_challenge(&mut self, challenge: &PasskeyChallenge) -> StoreResult<()>;
    /// A challenge by its hash, including expired ones.
    async fn challenge(
        &mut self,
        world: &World,
        hash: &TokenHash,
    ) -> StoreResult<Option<PasskeyChallenge>>;
    /// Consumes a challenge; `false` if it does not exist, is for another ceremony, or has expired at `now`. One guarded statement (W-1).
    async fn consume_challenge(
        &mut self,
        world: &World,
        hash: &TokenHash,
        ceremony: Ceremony,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Deletes challenges of some worlds that expired before the given time; returns how many.
    async fn sweep_challenges(
        &mut self,
        worlds: &SweptWorlds,
        expired_before: Timestamp,
    ) -> StoreResult<u64>;
}
