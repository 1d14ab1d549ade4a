//! Idempotency keys.

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use vestry_domain::envelope::Sealed;
use vestry_domain::idempotency::{Claim, KeyDigest, KnownKey};
use vestry_domain::ids::UserId;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Idempotency, StoreError, StoreResult, SweptWorlds};

use super::{Unit, count, in_world, in_worlds, oldest_first};
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::idempotency::{ClaimRow, KnownRow};
use vestry_store_rows::schema::idempotency_keys as keys;

/// The row of a run that has no response yet.
macro_rules! running {
    ($world:expr, $key:expr, $holder:expr) => {
        in_world!(keys, $world)
            .filter(keys::digest.eq($key.0.to_vec()))
            .filter(keys::holder.eq($holder))
            .filter(keys::answer.is_null())
    };
}

#[port]
impl Idempotency for Unit {
    async fn claim(&mut self, claim: &Claim, now: Timestamp) -> StoreResult<Option<KnownKey>> {
        let upsert = diesel::insert_into(keys::table)
            .values(ClaimRow::from(claim))
            .on_conflict((keys::app_id, keys::environment, keys::digest))
            .do_update()
            .set((
                keys::request_key_version.eq(excluded(keys::request_key_version)),
                keys::request.eq(excluded(keys::request)),
                keys::holder.eq(excluded(keys::holder)),
                keys::lease_until.eq(excluded(keys::lease_until)),
                keys::expires_at.eq(excluded(keys::expires_at)),
                keys::answer_key_version.eq(None::<i64>),
                keys::answer.eq(None::<Vec<u8>>),
                keys::user_id.eq(None::<String>),
                keys::erased.eq(false),
            ));
        let expired = keys::expires_at.le(now.unix());
        let upsert = diesel::query_dsl::methods::FilterDsl::filter(upsert, expired);
        let taken = Prepared(upsert).execute(self.writing()?).await;
        if self.done(taken)? == 1 {
            return Ok(None);
        }
        let query = in_world!(keys, claim.world)
            .filter(keys::digest.eq(claim.key.0.to_vec()))
            .select(KnownRow::as_select());
        let found = query.first(self.reading()?).await.optional();
        // Both databases keep the conflicting row locked, so it exists; if it did not, the next run would claim the key.
        let known = self.done(found)?.ok_or(StoreError::Retry)?;
        KnownKey::try_from(known).map(Some)
    }

    async fn take_over(
        &mut self,
        claim: &Claim,
        silent: &str,
        machine: Timestamp,
    ) -> StoreResult<bool> {
        let dead =
            running!(claim.world, claim.key, silent).filter(keys::lease_until.le(machine.unix()));
        let update = diesel::update(dead).set((
            keys::holder.eq(&claim.holder),
            keys::lease_until.eq(claim.lease_until.unix()),
        ));
        let taken = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(taken)? == 1)
    }

    async fn renew(
        &mut self,
        world: &World,
        key: &KeyDigest,
        holder: &str,
        lease_until: Timestamp,
    ) -> StoreResult<bool> {
        let update = diesel::update(running!(world, key, holder))
            .set(keys::lease_until.eq(lease_until.unix()));
        let renewed = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(renewed)? == 1)
    }

    async fn finish(
        &mut self,
        world: &World,
        key: &KeyDigest,
        holder: &str,
        answer: &Sealed,
        about: Option<UserId>,
    ) -> StoreResult<bool> {
        let update = diesel::update(running!(world, key, holder)).set((
            keys::answer_key_version.eq(i64::from(answer.key_version)),
            keys::answer.eq(&answer.bytes),
            keys::user_id.eq(about.map(|user| user.to_string())),
        ));
        let finished = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(finished)? == 1)
    }

    async fn erase(&mut self, world: &World, user: UserId) -> StoreResult<u64> {
        let about = in_world!(keys, world).filter(keys::user_id.eq(user.to_string()));
        let update = diesel::update(about).set((
            keys::answer_key_version.eq(None::<i64>),
            keys::answer.eq(None::<Vec<u8>>),
            keys::user_id.eq(None::<String>),
            keys::lease_until.eq(0),
            keys::erased.eq(true),
        ));
        let erased = Prepared(update).execute(self.writing()?).await;
        Ok(count(self.done(erased)?))
    }

    async fn release(&mut self, world: &World, key: &KeyDigest, holder: &str) -> StoreResult<bool> {
        let unused = running!(world, key, holder).filter(keys::erased.eq(false));
        let released = diesel::delete(unused).execute(self.writing()?).await;
        if self.done(released)? == 1 {
            return Ok(true);
        }
        let erased = running!(world, key, holder).filter(keys::erased.eq(true));
        let update = diesel::update(erased).set(keys::lease_until.eq(0));
        let ended = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(ended)? == 1)
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64> {
        let old = in_worlds!(keys, worlds).filter(keys::expires_at.lt(expired_before.unix()));
        let old = oldest_first!(old, worlds, keys::expires_at);
        delete_limited!(self, keys, old)
    }
}
