//! Postgres, and engines that speak its protocol.

mod connector;
mod dialect;
mod durability;
mod engine;
mod lists;
mod manager;
mod migrate;
#[expect(
    clippy::duplicate_mod,
    reason = "one query source is compiled once for each backend"
)]
#[path = "../repositories/mod.rs"]
mod repositories;
mod statistics;

use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{Pool, QueueMode};
use tokio::runtime::Handle;
use vestry_domain::audit::{AuditEntry, AuditHead};
use vestry_domain::limits::{Limit, Verdict};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{SeenWallet, StoreError, StoreResult};

use self::connector::Connector;
use self::manager::Manager;
use self::repositories::{Pooled, Unit};
use self::statistics::Statistics;
use crate::failure;
use crate::migrations::{missing, postgres_versions};
use crate::settings::{PostgresUrl, Settings};

pub(crate) use self::migrate::migrate;

/// How long `ready` waits for a connection.
const READY_TIMEOUT: Duration = Duration::from_millis(500);

/// How long looking at the state of a connection may take before it goes back to work. It takes no round trip.
const RECYCLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Connections of the rate limiter: its statements are short.
const LIMITER_CONNECTIONS: usize = 4;

/// The connections to one database.
pub(crate) struct Pools {
    pool: Pool<Manager>,
    limiter: LimiterPool,
    findings: Vec<String>,
    /// Whether the engine tells where a row is, and numbers what wrote it.
    tells_states: bool,
    runtime: Handle,
    _statistics: Statistics,
}

impl Pools {
    /// Connects once, to see that it works and how durable the database is.
    pub(crate) async fn open(url: &PostgresUrl, settings: &Settings) -> StoreResult<Self> {
        let connector = Connector::new(url, settings)?;
        let pool = |size: usize| {
            let manager = Manager::new(connector.clone(), settings.keep_statements);
            Pool::builder(manager)
                .max_size(size.max(1))
                .wait_timeout(Some(settings.acquire_timeout))
                .create_timeout(Some(settings.connect_timeout))
                .recycle_timeout(Some(RECYCLE_TIMEOUT))
                // The connection used last has its statements in the processor's cache, here and on the server.
                .queue_mode(QueueMode::Lifo)
                .runtime(Runtime::Tokio1)
                .build()
                .map_err(|impossible| StoreError::Other(Box::new(impossible)))
        };
        let (runtime, connections) = (Handle::current(), pool(settings.connections)?);
        let mut pools = Self {
            limiter: LimiterPool(pool(LIMITER_CONNECTIONS)?),
            findings: Vec::new(),
            tells_states: false,
            _statistics: Statistics::keep(connections.clone(), &runtime),
            pool: connections,
            runtime,
        };
        let mut connection = pools.get().await?;
        pools.findings = durability::findings(&mut connection).await?;
        pools.tells_states = engine::tells_states(&mut connection).await;
        drop(connection);
        Ok(pools)
    }

    async fn get(&self) -> StoreResult<Pooled> {
        self.pool.get().await.map_err(failure::of_pool)
    }

    pub(crate) async fn begin(&self) -> StoreResult<Unit> {
        Unit::begin(self.get().await?, self.runtime.clone()).await
    }

    pub(crate) async fn read(&self) -> StoreResult<Unit> {
        let runtime = self.runtime.clone();
        Ok(Unit::view(self.get().await?, runtime, self.tells_states))
    }

    pub(crate) async fn append_to_audit_log(
        &self,
        entries: &[AuditEntry],
        heads: &[AuditHead],
        seen: &[SeenWallet],
    ) -> StoreResult<Vec<SeenWallet>> {
        let unit = Unit::self_committing(self.get().await?, self.runtime.clone());
        unit.append_to_audit_log(entries, heads, seen).await
    }

    pub(crate) async fn missing_migrations(&self) -> StoreResult<Vec<String>> {
        let mut view = tokio::time::timeout(READY_TIMEOUT, self.read())
            .await
            .unwrap_or(Err(StoreError::Busy))?;
        let applied = view.applied_migrations().await?;
        Ok(missing(postgres_versions()?, &applied))
    }

    pub(crate) fn durability_findings(&self) -> &[String] {
        &self.findings
    }

    pub(crate) fn limiter(&self) -> LimiterPool {
        self.limiter.clone()
    }
}

/// The limiter's connections.
#[derive(Clone)]
pub(crate) struct LimiterPool(Pool<Manager>);

impl LimiterPool {
    pub(crate) async fn hit(
        &self,
        world: &World,
        limit: Limit,
        now: Timestamp,
    ) -> StoreResult<Verdict> {
        let mut connection = self.0.get().await.map_err(failure::of_pool)?;
        repositories::hit(&mut connection, world, limit, now).await
    }
}
