//! SQLite: one connection that writes, some that read, one file.

mod detached;
mod dialect;
mod lists;
mod manager;
mod migrate;
#[expect(
    clippy::duplicate_mod,
    reason = "one query source is compiled once for each backend"
)]
#[path = "../repositories/mod.rs"]
mod repositories;

use std::path::{Path, PathBuf};
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{Pool, QueueMode};
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use tokio::runtime::Handle;
use vestry_domain::audit::{AuditEntry, AuditHead};
use vestry_domain::limits::{Limit, Verdict};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{SeenWallet, StoreError, StoreResult};

use self::manager::{Manager, Role};
use self::repositories::{Pooled, Unit};
use crate::failure;
use crate::migrations::{missing, sqlite_versions};
use crate::settings::{Settings, Synchronous};
use crate::store::BackupError;

pub(crate) use self::migrate::migrate;

/// How long `ready` waits for a connection.
const READY_TIMEOUT: Duration = Duration::from_millis(500);

/// The connections to one file.
pub(crate) struct Pools {
    path: PathBuf,
    settings: Settings,
    /// Writers queue here, first come, first served: SQLite itself would let them poll.
    writer: Pool<Manager>,
    readers: Pool<Manager>,
    limiter: LimiterPool,
    findings: Vec<String>,
    runtime: Handle,
}

impl Pools {
    /// Opens the file, and makes it when it is not there.
    pub(crate) async fn open(path: &Path, settings: &Settings) -> StoreResult<Self> {
        let runtime = Handle::current();
        let pool = |role, size| {
            let manager = Manager::new(path, role, settings, runtime.clone());
            Pool::builder(manager)
                .max_size(size)
                .wait_timeout(Some(settings.acquire_timeout))
                .create_timeout(Some(settings.connect_timeout + settings.acquire_timeout))
                .queue_mode(QueueMode::Lifo)
                .runtime(Runtime::Tokio1)
                .build()
                .map_err(|impossible| StoreError::Other(Box::new(impossible)))
        };
        let writer = pool(Role::Writer, 1)?;
        let pools = Self {
            path: path.to_owned(),
            settings: settings.clone(),
            readers: pool(Role::Reader, settings.readers.max(1))?,
            limiter: LimiterPool {
                turn: writer.clone(),
                connection: pool(Role::Limiter, 1)?,
            },
            writer,
            findings: findings(settings),
            runtime: runtime.clone(),
        };
        // Makes the file, switches it to write-ahead logging and checks both pragmas.
        drop(pools.get(&pools.writer).await?);
        Ok(pools)
    }

    async fn get(&self, pool: &Pool<Manager>) -> StoreResult<Pooled> {
        pool.get().await.map_err(failure::of_pool)
    }

    pub(crate) async fn begin(&self) -> StoreResult<Unit> {
        Unit::begin(self.get(&self.writer).await?, self.runtime.clone()).await
    }

    pub(crate) async fn read(&self) -> StoreResult<Unit> {
        let connection = self.get(&self.readers).await?;
        Ok(Unit::view(connection, self.runtime.clone(), false))
    }

    pub(crate) async fn append_to_audit_log(
        &self,
        entries: &[AuditEntry],
        heads: &[AuditHead],
        seen: &[SeenWallet],
    ) -> StoreResult<Vec<SeenWallet>> {
        let unit = Unit::self_committing(self.get(&self.writer).await?, self.runtime.clone());
        unit.append_to_audit_log(entries, heads, seen).await
    }

    pub(crate) async fn missing_migrations(&self) -> StoreResult<Vec<String>> {
        let mut view = tokio::time::timeout(READY_TIMEOUT, self.read())
            .await
            .unwrap_or(Err(StoreError::Busy))?;
        let applied = view.applied_migrations().await?;
        Ok(missing(sqlite_versions()?, &applied))
    }

    pub(crate) fn durability_findings(&self) -> &[String] {
        &self.findings
    }

    pub(crate) fn limiter(&self) -> LimiterPool {
        self.limiter.clone()
    }

    pub(crate) async fn backup_into(&self, file: &Path) -> Result<(), BackupError> {
        manager::create_private(file).map_err(BackupError::File)?;
        let copied = self.vacuum_into(file).await;
        if copied.is_err() {
            // Half a backup must not be mistaken for one; that it cannot be removed changes nothing about the error.
            let _removed = std::fs::remove_file(file);
        }
        copied.map_err(BackupError::Database)
    }

    async fn vacuum_into(&self, file: &Path) -> StoreResult<()> {
        let runtime = self.runtime.clone();
        let manager = Manager::new(&self.path, Role::Copier, &self.settings, runtime);
        let mut connection = deadpool::managed::Manager::create(&manager).await?;
        let name = file.to_string_lossy().into_owned();
        let copied = diesel::sql_query("VACUUM INTO ?")
            .bind::<Text, _>(name)
            .execute(&mut connection)
            .await;
        let outcome = copied
            .map_err(|error| dialect::classify(error, None))
            .map(drop);
        dialect::close(connection, &self.runtime);
        outcome
    }
}

fn findings(settings: &Settings) -> Vec<String> {
    match settings.synchronous {
        Synchronous::Full => Vec::new(),
        Synchronous::Normal => {
            vec!["SQLite does not wait for the disk at a commit (synchronous=NORMAL)".to_owned()]
        }
    }
}

/// The limiter's way into the file. A count that is lost with the power does no harm, so it does not wait for the disk;
/// but only one may write at a time, so it waits for its turn among the writers.
#[derive(Clone)]
pub(crate) struct LimiterPool {
    turn: Pool<Manager>,
    connection: Pool<Manager>,
}

impl LimiterPool {
    pub(crate) async fn hit(
        &self,
        world: &World,
        limit: Limit,
        now: Timestamp,
    ) -> StoreResult<Verdict> {
        let _turn = self.turn.get().await.map_err(failure::of_pool)?;
        let mut connection = self.connection.get().await.map_err(failure::of_pool)?;
        repositories::hit(&mut connection, world, limit, now).await
    }
}

#[cfg(test)]
mod tests;
