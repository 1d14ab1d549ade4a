//! Consecutive failures per identifier.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl};
use diesel_async::RunQueryDsl;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Lockouts, Noted, StoreResult, SweptWorlds};

use super::{Unit, count, dialect, in_world, in_worlds};
use vestry_store_rows::counter_subject;
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::schema::lockouts;

#[port]
impl Lockouts for Unit {
    async fn noted(&mut self, world: &World, subject: &str) -> StoreResult<Option<Noted>> {
        let query = in_world!(lockouts, world)
            .filter(lockouts::subject.eq(counter_subject::key(subject)))
            .select(lockouts::blocked_until);
        let found = query.first::<Option<i64>>(self.reading()?).await.optional();
        Ok(self.done(found)?.map(|until| Noted {
            blocked_until: until.map(Timestamp::from_unix),
        }))
    }

    async fn fail(&mut self, world: &World, subject: &str, at: Timestamp) -> StoreResult<i64> {
        let upsert = diesel::insert_into(lockouts::table)
            .values((
                lockouts::app_id.eq(world.app_id.to_string()),
                lockouts::environment.eq(world.environment.as_str()),
                lockouts::subject.eq(counter_subject::key(subject)),
                lockouts::failures.eq(1_i64),
                lockouts::failed_at.eq(at.unix()),
            ))
            .on_conflict((lockouts::app_id, lockouts::environment, lockouts::subject))
            .do_update()
            .set((
                lockouts::failures.eq(lockouts::failures + 1),
                lockouts::failed_at.eq(at.unix()),
            ))
            .returning(lockouts::failures);
        let counted = Prepared(upsert).get_result(self.writing()?).await;
        self.done(counted)
    }

    async fn block(&mut self, world: &World, subject: &str, until: Timestamp) -> StoreResult<()> {
        let upsert = diesel::insert_into(lockouts::table)
            .values((
                lockouts::app_id.eq(world.app_id.to_string()),
                lockouts::environment.eq(world.environment.as_str()),
                lockouts::subject.eq(counter_subject::key(subject).into_owned()),
                lockouts::failures.eq(0_i64),
                lockouts::blocked_until.eq(until.unix()),
            ))
            .on_conflict((lockouts::app_id, lockouts::environment, lockouts::subject))
            .do_update()
            .set(lockouts::blocked_until.eq(until.unix()));
        let blocked = dialect::defer!(self.writing()?, Prepared(upsert)).await;
        self.done(blocked)
    }

    async fn reset(&mut self, world: &World, subject: &str) -> StoreResult<()> {
        let lockout = in_world!(lockouts, world)
            .filter(lockouts::subject.eq(counter_subject::key(subject).into_owned()));
        let deleted = dialect::defer!(self.writing()?, diesel::delete(lockout)).await;
        self.done(deleted)
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, idle_since: Timestamp) -> StoreResult<u64> {
        let since = idle_since.unix();
        // NULL compares as unknown: subjects that have never failed, and those that were never blocked, need conditions of their own.
        let idle = in_worlds!(lockouts, worlds)
            .filter(
                lockouts::failed_at
                    .lt(since)
                    .or(lockouts::failed_at.is_null()),
            )
            .filter(
                lockouts::blocked_until
                    .lt(since)
                    .or(lockouts::blocked_until.is_null()),
            );
        delete_limited!(self, lockouts, idle)
    }
}
