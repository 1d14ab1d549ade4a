//! The general rate limit, counted in the database.

use diesel::IntoSql;
use diesel::dsl::case_when;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods};
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::StoreResult;

use super::dialect::{self, Conn};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rate_window;
use vestry_store_rows::schema::rate_windows;

/// Counts one use against a world's limit, in a single self-committing statement.
pub(crate) async fn hit(
    conn: &mut Conn,
    world: &World,
    limit: Limit,
    now: Timestamp,
) -> StoreResult<LimitVerdict> {
    let over = || rate_window::is_over!(rate_windows, limit, now);
    let upsert =
        diesel::insert_into(rate_windows::table)
            .values((
                rate_windows::app_id.eq(world.app_id.to_string()),
                rate_windows::environment.eq(world.environment.as_str()),
                rate_windows::opened_at.eq(now.unix()),
                rate_windows::used.eq(1_i64),
            ))
            .on_conflict((rate_windows::app_id, rate_windows::environment))
            .do_update()
            .set((
                rate_windows::used
                    .eq(case_when(over(), 1_i64.into_sql::<BigInt>())
                        .otherwise(rate_windows::used + 1)),
                rate_windows::opened_at.eq(case_when(over(), now.unix().into_sql::<BigInt>())
                    .otherwise(rate_windows::opened_at)),
            ))
            .returning((rate_windows::used, rate_windows::opened_at));
    match Prepared(upsert).get_result(conn).await {
        Ok((used, opened)) => Ok(rate_window::verdict(limit, used, opened)),
        Err(error) => Err(dialect::classify(error, Some(conn))),
    }
}
