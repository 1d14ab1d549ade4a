//! Challenges that wallet holders sign.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{UserId, WalletRegistrationId};
use vestry_domain::wallet::WalletType;
use vestry_domain::wallet_sign_in::WalletChallenge;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{StoreResult, SweptWorlds, WalletChallenges};

use super::{Unit, count, dialect, in_world, in_worlds, load_all, oldest_first};
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::wallet_challenges::WalletChallengeRow;
use vestry_store_rows::schema::wallet_challenges;

#[port]
impl WalletChallenges for Unit {
    async fn insert(&mut self, challenge: &WalletChallenge) -> StoreResult<()> {
        let insert = diesel::insert_into(wallet_challenges::table)
            .values(WalletChallengeRow::from(challenge));
        let inserted = dialect::defer!(self.writing()?, insert).await;
        self.done(inserted)
    }

    async fn living(
        &mut self,
        world: &World,
        wallet_type: WalletType,
        public_address: &str,
        ends_after: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<WalletChallenge>> {
        let query = in_world!(wallet_challenges, world)
            .filter(wallet_challenges::wallet_type.eq(wallet_type.as_str()))
            .filter(wallet_challenges::public_address.eq(public_address))
            .filter(wallet_challenges::used_at.is_null())
            .filter(wallet_challenges::expires_at.gt(ends_after.unix()))
            .order(wallet_challenges::id.desc())
            .limit(limit)
            .select(WalletChallengeRow::as_select());
        load_all!(self, query)
    }

    async fn consume(
        &mut self,
        world: &World,
        id: WalletRegistrationId,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let unused = in_world!(wallet_challenges, world)
            .filter(wallet_challenges::id.eq(id.to_string()))
            .filter(wallet_challenges::used_at.is_null())
            .filter(wallet_challenges::expires_at.gt(now.unix()));
        let update = diesel::update(unused).set(wallet_challenges::used_at.eq(now.unix()));
        let used = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(used)? == 1)
    }

    async fn forget(&mut self, world: &World, user: UserId) -> StoreResult<()> {
        let theirs = in_world!(wallet_challenges, world)
            .filter(wallet_challenges::user_id.eq(user.to_string()));
        let deleted = dialect::defer!(self.writing()?, diesel::delete(theirs)).await;
        self.done(deleted)
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64> {
        let old = in_worlds!(wallet_challenges, worlds)
            .filter(wallet_challenges::expires_at.lt(expired_before.unix()));
        let old = oldest_first!(old, worlds, wallet_challenges::expires_at);
        delete_limited!(self, wallet_challenges, old)
    }
}
