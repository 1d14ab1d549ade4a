//! Counters of sent messages.

use diesel::IntoSql;
use diesel::dsl::case_when;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Quotas, StoreResult, SweptWorlds};

use super::{Unit, count, dialect, in_world, in_worlds, oldest_first};
use vestry_store_rows::delete_limited;
use vestry_store_rows::lock_order::Rank;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::schema::quotas;
use vestry_store_rows::{counter_subject, rate_window};

/// Counts a use in the open window, or opens one.
macro_rules! use_once {
    ($world:expr, $name:expr, $subject:expr, $limit:expr, $now:expr) => {{
        let (world, limit, now): (&World, Limit, Timestamp) = ($world, $limit, $now);
        let (opened, closes) = (now.unix(), (now + limit.window).unix());
        let over = || rate_window::is_over!(quotas, limit, now);
        diesel::insert_into(quotas::table)
            .values((
                quotas::app_id.eq(world.app_id.to_string()),
                quotas::environment.eq(world.environment.as_str()),
                quotas::name.eq($name),
                quotas::subject.eq(counter_subject::key($subject).into_owned()),
                quotas::opened_at.eq(opened),
                quotas::closes_at.eq(closes),
                quotas::used.eq(1_i64),
            ))
            .on_conflict((
                quotas::app_id,
                quotas::environment,
                quotas::name,
                quotas::subject,
            ))
            .do_update()
            .set(
                (
                    quotas::used
                        .eq(case_when(over(), 1_i64.into_sql::<BigInt>())
                            .otherwise(quotas::used + 1)),
                    quotas::opened_at
                        .eq(case_when(over(), opened.into_sql::<BigInt>())
                            .otherwise(quotas::opened_at)),
                    quotas::closes_at
                        .eq(case_when(over(), closes.into_sql::<BigInt>())
                            .otherwise(quotas::closes_at)),
                ),
            )
    }};
}

#[port]
impl Quotas for Unit {
    async fn consume(
        &mut self,
        world: &World,
        name: &'static str,
        subject: &str,
        limit: Limit,
        now: Timestamp,
    ) -> StoreResult<LimitVerdict> {
        if limit.is_off() {
            return Ok(LimitVerdict::on(limit, 0, now));
        }
        let upsert = use_once!(world, name, subject, limit, now)
            .returning((quotas::used, quotas::opened_at));
        let counted = Prepared(upsert).get_result(self.writing()?).await;
        let (used, opened) = self.done(counted)?;
        Ok(rate_window::verdict(limit, used, opened))
    }

    async fn count(
        &mut self,
        world: &World,
        name: &'static str,
        subject: &str,
        window: Seconds,
        now: Timestamp,
    ) -> StoreResult<()> {
        let most = u32::MAX;
        let upsert = use_once!(world, name, subject, Limit { most, window }, now);
        let counted =
            dialect::defer_to_commit!(self.writing()?, Rank::Uses, Prepared(upsert)).await;
        self.done(counted)
    }

    async fn refund(
        &mut self,
        world: &World,
        name: &'static str,
        subject: &str,
        uses: u32,
    ) -> StoreResult<()> {
        let uses = i64::from(uses);
        let counter = in_world!(quotas, world)
            .filter(quotas::name.eq(name))
            .filter(quotas::subject.eq(counter_subject::key(subject).into_owned()));
        let fewer = case_when(quotas::used.gt(uses), quotas::used - uses)
            .otherwise(0_i64.into_sql::<BigInt>());
        let update = diesel::update(counter).set(quotas::used.eq(fewer));
        let given = dialect::defer!(self.writing()?, Prepared(update)).await;
        self.done(given)
    }

    async fn forget(
        &mut self,
        world: &World,
        names: &[&'static str],
        subject: &str,
    ) -> StoreResult<()> {
        let counters = in_world!(quotas, world)
            .filter(quotas::name.eq_any(names.iter().copied()))
            .filter(quotas::subject.eq(counter_subject::key(subject).into_owned()));
        let deleted = dialect::defer!(self.writing()?, diesel::delete(counters)).await;
        self.done(deleted)
    }

    async fn total(
        &mut self,
        world: &World,
        name: &'static str,
        now: Timestamp,
    ) -> StoreResult<u64> {
        // Summed here, because the sum of a `BigInt` has a different type in each database.
        let query = in_world!(quotas, world)
            .filter(quotas::name.eq(name))
            .filter(quotas::opened_at.le(now.unix()))
            .filter(quotas::closes_at.gt(now.unix()))
            .select(quotas::used);
        let used = query.load::<i64>(self.reading()?).await;
        let used = self.done(used)?;
        Ok(used
            .into_iter()
            .filter_map(|used| u64::try_from(used).ok())
            .sum())
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, closed_before: Timestamp) -> StoreResult<u64> {
        let old = in_worlds!(quotas, worlds).filter(quotas::closes_at.lt(closed_before.unix()));
        let old = oldest_first!(old, worlds, quotas::closes_at);
        delete_limited!(self, quotas, old)
    }
}
