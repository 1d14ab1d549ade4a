//! The store over SQLite or Postgres, whichever the settings name.

use std::sync::Arc;

use vestry_domain::Timestamp;
use vestry_domain::audit::{AuditEntry, AuditStep};
use vestry_domain::ids::AuditChainId;
use vestry_ports::meter::Meter;
use vestry_ports::port;
use vestry_ports::store::{
    CommitHook, Partitions, Repositories, Store, StoreError, StoreResult, Tx,
};

use vestry_store_postgres::{Distribution, Pooler, PostgresStore};
use vestry_store_rows::migrations::{MissingMigrations, SchemaState};
use vestry_store_rows::settings::{Database, Settings};
use vestry_store_sqlite::SqliteStore;

use crate::limiter::SqlRateLimiter;

/// Implements the Store port over SQLite or Postgres.
pub struct SqlStore(Engine);

enum Engine {
    Sqlite(SqliteStore),
    Postgres(PostgresStore),
}

impl SqlStore {
    /// Opens the database and reads its durability settings. It need not be migrated yet: see [`migrate()`](crate::migrate()).
    ///
    /// The connections belong to the runtime that calls this; later calls must come from the same one.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if it cannot be opened.
    pub async fn connect(settings: &Settings) -> StoreResult<Self> {
        let engine = match &settings.database {
            Database::Sqlite(path) => Engine::Sqlite(SqliteStore::open(path, settings).await?),
            Database::Postgres(url) => Engine::Postgres(PostgresStore::open(url, settings).await?),
        };
        Ok(Self(engine))
    }

    /// Returns one sentence for each reason why a power loss could lose an acknowledged change (K8). Production use must be refused unless
    /// there is none.
    pub fn durability_findings(&self) -> &[String] {
        match &self.0 {
            Engine::Sqlite(store) => store.durability_findings(),
            Engine::Postgres(store) => store.durability_findings(),
        }
    }

    /// Returns how the tables are distributed over the servers of a cluster; `None` if all are on one server.
    ///
    /// # Errors
    /// [`StoreError`], also if one of the servers is unreachable.
    pub async fn distribution(&self) -> StoreResult<Option<Distribution>> {
        match &self.0 {
            Engine::Sqlite(_) => Ok(None),
            Engine::Postgres(store) => store.distribution().await,
        }
    }

    /// Returns the kind of pooler in front of Postgres, if there is one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn pooler(&self) -> StoreResult<Option<Pooler>> {
        match &self.0 {
            Engine::Sqlite(_) => Ok(None),
            Engine::Postgres(store) => store.pooler().await,
        }
    }

    /// Returns how the schema differs from what this build expects.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn schema_state(&self) -> StoreResult<SchemaState> {
        match &self.0 {
            Engine::Sqlite(store) => store.schema_state().await,
            Engine::Postgres(store) => store.schema_state().await,
        }
    }

    /// Returns whether the planner statistics of SQLite are no longer those that the migration wrote, for example after `ANALYZE`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn has_foreign_statistics(&self) -> StoreResult<bool> {
        match &self.0 {
            Engine::Sqlite(store) => store.has_foreign_statistics().await,
            Engine::Postgres(_) => Ok(false),
        }
    }

    /// Returns the clock of the database server; `None` for SQLite, which has the clock of this machine.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn clock(&self) -> StoreResult<Option<Timestamp>> {
        match &self.0 {
            Engine::Sqlite(_) => Ok(None),
            Engine::Postgres(store) => store.clock().await.map(Some),
        }
    }

    /// Whether Postgres has standbys, and a commit waits for none of them.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn has_only_asynchronous_standbys(&self) -> StoreResult<bool> {
        match &self.0 {
            Engine::Sqlite(_) => Ok(false),
            Engine::Postgres(store) => store.has_only_asynchronous_standbys().await,
        }
    }

    /// Measures transactions and pools with `meter` from now on. A second call does nothing.
    pub fn measured_by(&self, meter: Arc<dyn Meter>) {
        match &self.0 {
            Engine::Sqlite(store) => store.measured_by(meter),
            Engine::Postgres(store) => store.measured_by(meter),
        }
    }

    /// Returns a rate limiter on the same database, with its own connection pool.
    pub fn rate_limiter(&self) -> SqlRateLimiter {
        match &self.0 {
            Engine::Sqlite(store) => SqlRateLimiter::sqlite(store.limiter()),
            Engine::Postgres(store) => SqlRateLimiter::postgres(store.limiter()),
        }
    }

    /// Whether a restore into this database has begun and not ended.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn is_half_restored(&self) -> StoreResult<bool> {
        match &self.0 {
            Engine::Sqlite(store) => store.is_half_restored().await,
            Engine::Postgres(store) => store.is_half_restored().await,
        }
    }
}

#[port]
impl Store for SqlStore {
    async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        Ok(match &self.0 {
            Engine::Sqlite(store) => store.begin().await?,
            Engine::Postgres(store) => store.begin().await?,
        })
    }

    async fn read(&self) -> StoreResult<Box<dyn Repositories>> {
        Ok(match &self.0 {
            Engine::Sqlite(store) => store.read().await?,
            Engine::Postgres(store) => store.read().await?,
        })
    }

    async fn append_to_audit_log(
        &self,
        entries: &[AuditEntry],
        steps: &[AuditStep],
    ) -> StoreResult<Vec<AuditChainId>> {
        match &self.0 {
            Engine::Sqlite(store) => store.append_to_audit_log(entries, steps).await,
            Engine::Postgres(store) => store.append_to_audit_log(entries, steps).await,
        }
    }

    fn on_commit(&self, hook: CommitHook) {
        match &self.0 {
            Engine::Sqlite(store) => store.on_commit(hook),
            Engine::Postgres(store) => store.on_commit(hook),
        }
    }

    fn partitions(&self) -> Partitions {
        match &self.0 {
            Engine::Sqlite(_) => Partitions::One,
            Engine::Postgres(store) => store.partitions(),
        }
    }

    fn measure(&self) {
        match &self.0 {
            Engine::Sqlite(store) => store.measure(),
            Engine::Postgres(store) => store.measure(),
        }
    }

    async fn ready(&self) -> StoreResult<()> {
        let missing = match &self.0 {
            Engine::Sqlite(store) => store.missing_migrations().await?,
            Engine::Postgres(store) => store.missing_migrations().await?,
        };
        if missing.is_empty() {
            return Ok(());
        }
        Err(StoreError::Other(Box::new(MissingMigrations(missing))))
    }
}
