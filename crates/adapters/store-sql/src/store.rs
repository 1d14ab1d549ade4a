//! The store, over whichever of the two databases the settings name.

use std::path::Path;

use async_trait::async_trait;
use vestry_domain::audit::{AuditEntry, AuditHead};
use vestry_ports::store::{Repositories, SeenWallet, Store, StoreError, StoreResult, Tx};

use crate::limiter::SqlRateLimiter;
use crate::migrations::MissingMigrations;
use crate::settings::{Database, Settings};
use crate::{postgres, sqlite};

/// The Store port over SQLite or Postgres.
pub struct SqlStore(Engine);

enum Engine {
    Sqlite(sqlite::Pools),
    Postgres(postgres::Pools),
}

impl SqlStore {
    /// Opens the database and looks at how durable it is. It need not be migrated yet: see [`crate::migrate`].
    ///
    /// The connections live on the runtime that calls this; later calls must come from the same one.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it cannot be opened.
    pub async fn connect(settings: &Settings) -> StoreResult<Self> {
        let engine = match &settings.database {
            Database::Sqlite(path) => Engine::Sqlite(sqlite::Pools::open(path, settings).await?),
            Database::Postgres(url) => {
                Engine::Postgres(postgres::Pools::open(url, settings).await?)
            }
        };
        Ok(Self(engine))
    }

    /// Every reason why a change that was acknowledged could be lost with the power, as a sentence each (K8).
    /// Live use must be refused unless there is none.
    pub fn durability_findings(&self) -> &[String] {
        match &self.0 {
            Engine::Sqlite(pools) => pools.durability_findings(),
            Engine::Postgres(pools) => pools.durability_findings(),
        }
    }

    /// A rate limiter over the same database, with a connection pool of its own.
    pub fn rate_limiter(&self) -> SqlRateLimiter {
        match &self.0 {
            Engine::Sqlite(pools) => SqlRateLimiter::sqlite(pools.limiter()),
            Engine::Postgres(pools) => SqlRateLimiter::postgres(pools.limiter()),
        }
    }

    /// Writes a copy of a SQLite database, as it is at one moment, into a new file (`VACUUM INTO`). Writing goes on
    /// meanwhile. Only the file's owner may read it.
    ///
    /// # Errors
    /// [`BackupError`].
    pub async fn backup_into(&self, file: &Path) -> Result<(), BackupError> {
        match &self.0 {
            Engine::Sqlite(pools) => pools.backup_into(file).await,
            Engine::Postgres(_) => Err(BackupError::NotSqlite),
        }
    }
}

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database is not a SQLite file.
    #[error("this is done by the tools of Postgres, such as pg_dump")]
    NotSqlite,
    /// The file could not be made; it may be there already.
    #[error("the file of the backup cannot be created")]
    File(#[source] std::io::Error),
    /// The database did not write it.
    #[error("the database did not write the backup")]
    Database(#[source] StoreError),
}

#[async_trait]
impl Store for SqlStore {
    async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        Ok(match &self.0 {
            Engine::Sqlite(pools) => Box::new(pools.begin().await?),
            Engine::Postgres(pools) => Box::new(pools.begin().await?),
        })
    }

    async fn read(&self) -> StoreResult<Box<dyn Repositories>> {
        Ok(match &self.0 {
            Engine::Sqlite(pools) => Box::new(pools.read().await?),
            Engine::Postgres(pools) => Box::new(pools.read().await?),
        })
    }

    async fn append_to_audit_log(
        &self,
        entries: &[AuditEntry],
        heads: &[AuditHead],
        seen: &[SeenWallet],
    ) -> StoreResult<Vec<SeenWallet>> {
        match &self.0 {
            Engine::Sqlite(pools) => pools.append_to_audit_log(entries, heads, seen).await,
            Engine::Postgres(pools) => pools.append_to_audit_log(entries, heads, seen).await,
        }
    }

    async fn ready(&self) -> StoreResult<()> {
        let missing = match &self.0 {
            Engine::Sqlite(pools) => pools.missing_migrations().await?,
            Engine::Postgres(pools) => pools.missing_migrations().await?,
        };
        if missing.is_empty() {
            return Ok(());
        }
        Err(StoreError::Other(Box::new(MissingMigrations(missing))))
    }
}
