//! The store for Postgres, and for engines that speak its protocol.
//!
//! `repositories` are the queries of `vestry-store-rows`, compiled for this database; `dialect` is the part specific to Postgres.

mod array_queries;
mod citus;
mod citus_queries;
mod commit;
mod conn;
mod connection;
mod connector;
mod copy;
mod dialect;
mod durability;
mod events;
mod failover;
mod manager;
mod migrate;
mod pooler;
#[path = "../../store-rows/repositories/mod.rs"]
mod repositories;
mod stale_connections;
mod statistics;
mod tls_no_verify;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{Pool, QueueMode};
use diesel::pg::Pg;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use tokio::runtime::Handle;
use vestry_domain::audit::{AuditEntry, AuditStep};
use vestry_domain::ids::AuditChainId;
use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::metric::{PoolName, TransactionKind};
use vestry_domain::{Timestamp, World};
use vestry_ports::meter::Meter;
use vestry_ports::store::{CommitHook, Partitions, Repositories, StoreError, StoreResult, Tx};
use vestry_store_rows::failure;
use vestry_store_rows::measured::Measured;
use vestry_store_rows::migrations::{SchemaState, missing};

use self::manager::Manager;
use self::repositories::{Pooled, Site, Unit};
use self::stale_connections::StaleConnections;
use self::statistics::Statistics;
use vestry_store_rows::settings::{PostgresUrl, Settings};

pub use self::citus::Distribution;
pub use self::connection::{Conn, classify};
pub use self::connector::Connector;
pub use self::copy::{
    begin_restore, contents, create_database, drop_database, dump, end_restore, load,
};
pub use self::migrate::{distribute, migrate};
pub use self::pooler::Pooler;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../../migrations/postgres");

/// Returns the versions of this build's migrations, in order.
///
/// # Errors
/// None that can be handled: the migrations are part of the build.
pub fn versions() -> StoreResult<Vec<String>> {
    vestry_store_rows::migrations::versions::<Pg>(&MIGRATIONS)
}

/// How long `ready` waits for a connection.
const READY_TIMEOUT: Duration = Duration::from_millis(500);

/// How long checking a pooled connection may take before it is reused. The check needs no round trip.
const RECYCLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Number of connections for the rate limiter; its statements are short.
const LIMITER_CONNECTIONS: usize = 4;

/// Connection pools for one database.
pub struct PostgresStore {
    pool: Pool<Manager>,
    limiter: LimiterPool,
    findings: Vec<String>,
    runtime: Handle,
    is_distributed: bool,
    hook: Arc<OnceLock<CommitHook>>,
    measured: Measured,
    _statistics: Statistics,
    _stale_connections: StaleConnections,
}

impl PostgresStore {
    /// Connects once, to verify the connection and to read the durability settings.
    pub async fn open(url: &PostgresUrl, settings: &Settings) -> StoreResult<Self> {
        let connector = Connector::new(url, settings)?;
        let pool = |size: usize| {
            let manager = Manager::new(connector.clone(), settings.keep_statements);
            Pool::builder(manager)
                .max_size(size.max(1))
                .wait_timeout(Some(settings.acquire_timeout))
                .create_timeout(Some(settings.connect_timeout))
                .recycle_timeout(Some(RECYCLE_TIMEOUT))
                // The most recently used connection has its statements in the processor's cache, here and on the server.
                .queue_mode(QueueMode::Lifo)
                .runtime(Runtime::Tokio1)
                .build()
                .map_err(|impossible| StoreError::Other(Box::new(impossible)))
        };
        let (runtime, connections) = (Handle::current(), pool(settings.connections)?);
        let limiter = pool(LIMITER_CONNECTIONS)?;
        let measured = Measured::default();
        let mut pools = Self {
            findings: Vec::new(),
            _statistics: Statistics::keep(connections.clone(), &runtime),
            _stale_connections: StaleConnections::keep(
                [connections.clone(), limiter.clone()],
                &runtime,
            ),
            limiter: LimiterPool {
                pool: limiter,
                measured: measured.clone(),
            },
            pool: connections,
            runtime,
            is_distributed: false,
            hook: Arc::default(),
            measured,
        };
        let mut connection = pools.get(TransactionKind::Read).await?;
        pools.findings = durability::findings(&mut connection).await?;
        pools.is_distributed = citus::is_fully_distributed(&mut connection).await?;
        drop(connection);
        Ok(pools)
    }

    async fn get(&self, kind: TransactionKind) -> StoreResult<Pooled> {
        let connection = async { self.pool.get().await.map_err(failure::of_pool) };
        self.measured.wait(PoolName::Main, kind, connection).await
    }

    /// Measures transactions and pools with `meter` from now on.
    pub fn measured_by(&self, meter: Arc<dyn Meter>) {
        self.measured.by(meter);
    }

    /// Records how many connections are in use.
    pub fn measure(&self) {
        self.measured.pool(PoolName::Main, &self.pool);
        self.measured.pool(PoolName::Limiter, &self.limiter.pool);
    }

    fn site(&self) -> Site {
        Site {
            runtime: self.runtime.clone(),
            begin: self.pool.manager().begin(),
            is_distributed: self.is_distributed,
            hook: Arc::clone(&self.hook),
            measured: self.measured.clone(),
        }
    }

    /// See [`vestry_ports::store::Store::on_commit`].
    pub fn on_commit(&self, hook: CommitHook) {
        // The first hook is kept.
        let _is_second = self.hook.set(hook);
    }

    /// See [`vestry_ports::store::Store::partitions`].
    pub const fn partitions(&self) -> Partitions {
        match self.is_distributed {
            true => Partitions::PerApp,
            false => Partitions::One,
        }
    }

    /// Returns the kind of pooler in front of the server, if there is one that rejects or drops session start-up options.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn pooler(&self) -> StoreResult<Option<Pooler>> {
        let mut one = self.get(TransactionKind::Read).await?;
        if !self.pool.manager().is_bare() {
            return Ok(None);
        }
        let other = self.limiter.pool.get().await;
        let mut other = other.map_err(failure::of_pool)?;
        pooler::find(&mut one, &mut other).await.map(Some)
    }

    /// Returns how the tables are distributed, if they are.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn distribution(&self) -> StoreResult<Option<Distribution>> {
        if !self.is_distributed {
            return Ok(None);
        }
        citus::report(&mut *self.get(TransactionKind::Read).await?)
            .await
            .map(Some)
    }

    /// Opens a writing transaction; see [`vestry_ports::store::Store::begin`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        let connection = self.get(TransactionKind::Write).await?;
        let unit = Unit::begin(connection, self.site()).await?;
        Ok(Box::new(unit))
    }

    /// Opens a view for reading; see [`vestry_ports::store::Store::read`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn read(&self) -> StoreResult<Box<dyn Repositories>> {
        Ok(Box::new(self.view().await?))
    }

    async fn view(&self) -> StoreResult<Unit> {
        let connection = self.get(TransactionKind::Read).await?;
        Ok(Unit::view(connection, self.site()))
    }

    /// Appends entries in their own transaction; see [`vestry_ports::store::Store::append_to_audit_log`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn append_to_audit_log(
        &self,
        entries: &[AuditEntry],
        steps: &[AuditStep],
    ) -> StoreResult<Vec<AuditChainId>> {
        if self.is_distributed {
            let mut tx = self.begin().await?;
            let left = tx.audit_log().append(entries, steps).await?;
            tx.commit().await?;
            return Ok(left);
        }
        let connection = self.get(TransactionKind::Batch).await?;
        let unit = Unit::self_committing(connection, self.site());
        let appended = commit::commit_in_time(unit.append_to_audit_log(entries, steps)).await;
        appended.unwrap_or_else(|| Err(failure::unanswered()))
    }

    /// Returns this build's migrations that have not been applied. Takes half a second at most.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn missing_migrations(&self) -> StoreResult<Vec<String>> {
        let mut view = tokio::time::timeout(READY_TIMEOUT, self.view())
            .await
            .unwrap_or(Err(StoreError::Busy))?;
        let applied = view.applied_migrations().await?;
        Ok(missing(versions()?, &applied))
    }

    /// Returns how the schema differs from what this build expects.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn schema_state(&self) -> StoreResult<SchemaState> {
        let applied = self.view().await?.applied_migrations().await?;
        Ok(SchemaState::of(&versions()?, &applied))
    }

    /// Whether a restore into this database has begun and not ended.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn is_half_restored(&self) -> StoreResult<bool> {
        self.view().await?.is_half_restored().await
    }

    /// Returns the server's clock.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn clock(&self) -> StoreResult<Timestamp> {
        let mut connection = self.get(TransactionKind::Read).await?;
        durability::clock(&mut connection).await
    }

    /// Whether the server has standbys, and a commit waits for none of them.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn has_only_asynchronous_standbys(&self) -> StoreResult<bool> {
        let mut connection = self.get(TransactionKind::Read).await?;
        durability::has_only_asynchronous_standbys(&mut connection).await
    }

    /// Returns one sentence for each reason why a power loss could lose an acknowledged change (K8).
    pub fn durability_findings(&self) -> &[String] {
        &self.findings
    }

    /// Returns the connections for a rate limiter on the same database.
    pub fn limiter(&self) -> LimiterPool {
        self.limiter.clone()
    }
}

/// The rate limiter's connections.
#[derive(Clone)]
pub struct LimiterPool {
    pool: Pool<Manager>,
    measured: Measured,
}

impl LimiterPool {
    /// Counts one use against a limit; see [`vestry_ports::limiter::RateLimiter`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn hit(
        &self,
        world: &World,
        limit: Limit,
        now: Timestamp,
    ) -> StoreResult<LimitVerdict> {
        let connection = async { self.pool.get().await.map_err(failure::of_pool) };
        let kind = TransactionKind::Write;
        let waited = self.measured.wait(PoolName::Limiter, kind, connection);
        let mut connection = waited.await?;
        repositories::hit(&mut connection, world, limit, now).await
    }
}
