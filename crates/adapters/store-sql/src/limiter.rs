//! The general rate limit, shared by all processes that share the database (R16).

use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::{Timestamp, World};
use vestry_ports::limiter::{LimiterUnavailable, RateLimiter};
use vestry_ports::port;

/// Counts in the database: one statement for each use. It is exact over any number of processes, and as fast as one small commit. It has
/// its own connections, so that an exhausted pool of the store does not stop it.
///
/// If the database cannot be reached, it returns an error and decides nothing: whether to allow or deny is up to the caller.
pub struct SqlRateLimiter(Engine);

enum Engine {
    Sqlite(vestry_store_sqlite::LimiterPool),
    Postgres(vestry_store_postgres::LimiterPool),
}

impl SqlRateLimiter {
    pub(crate) const fn sqlite(pool: vestry_store_sqlite::LimiterPool) -> Self {
        Self(Engine::Sqlite(pool))
    }

    pub(crate) const fn postgres(pool: vestry_store_postgres::LimiterPool) -> Self {
        Self(Engine::Postgres(pool))
    }
}

#[port]
impl RateLimiter for SqlRateLimiter {
    async fn hit(
        &self,
        world: &World,
        limit: Limit,
        now: Timestamp,
    ) -> Result<LimitVerdict, LimiterUnavailable> {
        if limit.is_off() {
            return Ok(LimitVerdict::on(limit, 0, now));
        }
        let verdict = match &self.0 {
            Engine::Sqlite(pool) => pool.hit(world, limit, now).await,
            Engine::Postgres(pool) => pool.hit(world, limit, now).await,
        };
        verdict.map_err(|cause| LimiterUnavailable(Box::new(cause)))
    }
}
