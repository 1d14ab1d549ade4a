//! Challenges for wallet holders to sign.

use vestry_domain::ids::{UserId, WalletRegistrationId};
use vestry_domain::wallet::WalletType;
use vestry_domain::wallet_sign_in::WalletChallenge;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{StoreResult, SweptWorlds, WalletChallenges};

use super::Work;
use super::state::{add, at_most, remove_few};

#[port]
impl WalletChallenges for Work {
    async fn insert(&mut self, challenge: &WalletChallenge) -> StoreResult<()> {
        self.writing(|state| {
            let row = (challenge.clone(), false);
            add(&mut state.wallet_challenges, row, |(a, _), (b, _)| {
                (a.world, a.id) == (b.world, b.id)
            })
        })
    }

    async fn living(
        &mut self,
        world: &World,
        wallet_type: WalletType,
        public_address: &str,
        ends_after: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<WalletChallenge>> {
        self.reading(|state| {
            let unused = state.wallet_challenges.iter().filter(|(_, used)| !used);
            let mut living: Vec<_> = unused
                .map(|(challenge, _)| challenge)
                .filter(|challenge| {
                    challenge.world == *world
                        && challenge.wallet_type == wallet_type
                        && challenge.public_address == public_address
                        && challenge.expires_at > ends_after
                })
                .cloned()
                .collect();
            living.sort_by_key(|challenge| std::cmp::Reverse(challenge.id));
            living.truncate(at_most(limit));
            living
        })
    }

    async fn consume(
        &mut self,
        world: &World,
        id: WalletRegistrationId,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let mut rows = state.wallet_challenges.iter_mut();
            let unused = rows.find(|(challenge, used)| {
                (challenge.world, challenge.id) == (*world, id)
                    && !used
                    && now < challenge.expires_at
            });
            Ok(unused.map(|(_, used)| *used = true).is_some())
        })
    }

    async fn forget(&mut self, world: &World, user: UserId) -> StoreResult<()> {
        self.writing(|state| {
            let rows = &mut state.wallet_challenges;
            rows.retain(|(row, _)| (row.world, row.user_id) != (*world, user));
            Ok(())
        })
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let rows = &mut state.wallet_challenges;
            Ok(remove_few(rows, |(row, _)| {
                worlds.include(&row.world) && row.expires_at < expired_before
            }))
        })
    }
}
