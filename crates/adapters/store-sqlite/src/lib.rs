//! The store in a SQLite file, with one writing connection and several reading ones.
//!
//! `repositories` are the queries of `vestry-store-rows`, compiled for this database; `dialect` is the part specific to SQLite.

mod batch_queries;
mod connection;
mod copy;
mod dialect;
mod events;
mod manager;
mod migrate;
#[path = "../../store-rows/repositories/mod.rs"]
mod repositories;
mod same_file;
mod statement_deadline;
mod statistics;
mod thread;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{Pool, QueueMode};
use diesel::sqlite::Sqlite;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use tokio::runtime::Handle;
use vestry_domain::audit::{AuditEntry, AuditStep};
use vestry_domain::ids::AuditChainId;
use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::metric::{PoolName, TransactionKind};
use vestry_domain::{Timestamp, World};
use vestry_ports::meter::Meter;
use vestry_ports::store::{CommitHook, Repositories, StoreError, StoreResult, Tx};
use vestry_store_rows::failure;
use vestry_store_rows::measured::Measured;
use vestry_store_rows::migrations::{SchemaState, missing};

use self::repositories::{Pooled, Site, Unit};
use self::same_file::{SameFile, Watch};
use vestry_store_rows::settings::{Settings, Synchronous};

pub use self::connection::{Conn, classify};
pub use self::copy::{begin_restore, contents, create_directory, dump, end_restore, load};
pub use self::manager::{Manager, Role};
pub use self::migrate::migrate;
pub use self::statistics::LOW_SELECTIVITY_COLUMNS;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../../migrations/sqlite");

/// Returns the versions of this build's migrations, in order.
///
/// # Errors
/// None that can be handled: the migrations are part of the build.
pub fn versions() -> StoreResult<Vec<String>> {
    vestry_store_rows::migrations::versions::<Sqlite>(&MIGRATIONS)
}

/// How long `ready` waits for a connection.
const READY_TIMEOUT: Duration = Duration::from_millis(500);

/// Connection pools for one file.
pub struct SqliteStore {
    file: Arc<SameFile>,
    /// Writers queue here, first come, first served; SQLite itself would have them poll.
    writer: Pool<Manager>,
    readers: Pool<Manager>,
    limiter: LimiterPool,
    findings: Vec<String>,
    site: Site,
    _watch: Watch,
}

impl SqliteStore {
    /// Opens the file, and creates it if it does not exist.
    pub async fn open(path: &Path, settings: &Settings) -> StoreResult<Self> {
        let file = Arc::new(SameFile::at(path));
        let pool = |role, size| {
            let manager = Manager::to_the_same(&file, role, settings);
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
        // Creates the file, switches it to write-ahead logging and checks both pragmas.
        drop(writer.get().await.map_err(failure::of_pool)?);
        let watch = Watch::over(Arc::clone(&file));
        Ok(Self {
            readers: pool(Role::Reader, settings.readers.max(1))?,
            limiter: LimiterPool {
                file: Arc::clone(&file),
                turn: writer.clone(),
                connection: pool(Role::Limiter, 1)?,
            },
            writer,
            findings: findings(settings),
            site: Site {
                runtime: Handle::current(),
                begin: dialect::BEGIN,
                is_distributed: false,
                hook: Arc::default(),
                measured: Measured::default(),
            },
            _watch: watch.map_err(|refused| StoreError::Unavailable(Box::new(refused)))?,
            file,
        })
    }

    /// See [`vestry_ports::store::Store::on_commit`].
    pub fn on_commit(&self, hook: CommitHook) {
        // The first hook is kept.
        let _is_second = self.site.hook.set(hook);
    }

    async fn get(&self, kind: TransactionKind) -> StoreResult<Pooled> {
        let (name, pool) = match kind {
            TransactionKind::Read => (PoolName::Reader, &self.readers),
            TransactionKind::Write | TransactionKind::Batch => (PoolName::Writer, &self.writer),
        };
        let connection = async {
            // Checked before the queue, so that the error is immediate, and again after it.
            self.file.check()?;
            let connection = pool.get().await.map_err(failure::of_pool)?;
            self.file.check()?;
            Ok(connection)
        };
        self.site.measured.wait(name, kind, connection).await
    }

    /// Measures transactions and pools with `meter` from now on.
    pub fn measured_by(&self, meter: Arc<dyn Meter>) {
        self.site.measured.by(meter);
    }

    /// Records how many connections are in use.
    pub fn measure(&self) {
        let limiter = &self.limiter.connection;
        for (name, pool) in [
            (PoolName::Reader, &self.readers),
            (PoolName::Writer, &self.writer),
            (PoolName::Limiter, limiter),
        ] {
            self.site.measured.pool(name, pool);
        }
    }

    /// Opens a writing transaction; see [`vestry_ports::store::Store::begin`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        let connection = self.get(TransactionKind::Write).await?;
        let unit = Unit::begin(connection, self.site.clone()).await?;
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
        Ok(Unit::view(connection, self.site.clone()))
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
        let connection = self.get(TransactionKind::Batch).await?;
        let unit = Unit::self_committing(connection, self.site.clone());
        unit.append_to_audit_log(entries, steps).await
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

    /// Returns whether the planner statistics are no longer those that the migration wrote, for example after `ANALYZE`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn has_foreign_statistics(&self) -> StoreResult<bool> {
        let mut reader = self.get(TransactionKind::Read).await?;
        let ours = reader.spawn_blocking(statistics::are_ours).await;
        ours.map(|ours| !ours)
            .map_err(|error| connection::classify(error, None))
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

fn findings(settings: &Settings) -> Vec<String> {
    match settings.synchronous {
        Synchronous::Full => Vec::new(),
        Synchronous::Normal => {
            vec!["SQLite does not wait for the disk at a commit (synchronous=NORMAL)".to_owned()]
        }
    }
}

/// The limiter's writing connection. Losing a count in a power loss does no harm, so it does not wait for the disk. Only one connection can
/// write at a time, so it queues with the writers.
#[derive(Clone)]
pub struct LimiterPool {
    file: Arc<SameFile>,
    turn: Pool<Manager>,
    connection: Pool<Manager>,
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
        self.file.check()?;
        let _turn = self.turn.get().await.map_err(failure::of_pool)?;
        let mut connection = self.connection.get().await.map_err(failure::of_pool)?;
        repositories::hit(&mut connection, world, limit, now).await
    }
}
