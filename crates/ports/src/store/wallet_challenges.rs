//! Sign-in challenges for the holders of wallets.

use vestry_domain::ids::{UserId, WalletRegistrationId};
use vestry_domain::wallet::WalletType;
use vestry_domain::wallet_sign_in::WalletChallenge;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{StoreResult, SweptWorlds};

/// Challenges. Every method stays within the given world.
#[port]
pub trait WalletChallenges: Send {
    /// Adds a challenge.
    async fn insert(&mut self, challenge: &WalletChallenge) -> StoreResult<()>;
    /// The unused challenges of an address that expire after the given time, newest first, at most `limit`.
    async fn living(
        &mut self,
        world: &World,
        wallet_type: WalletType,
        public_address: &str,
        ends_after: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<WalletChallenge>>;
    /// Consumes a challenge; `false` if it was used, does not exist, or has expired at `now`. One guarded statement.
    async fn consume(
        &mut self,
        world: &World,
        id: WalletRegistrationId,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Deletes the challenges that would sign in this user.
    async fn forget(&mut self, world: &World, user: UserId) -> StoreResult<()>;
    /// Deletes challenges of some worlds that expired before the given time; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64>;
}
