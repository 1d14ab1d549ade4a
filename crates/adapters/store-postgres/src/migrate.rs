//! Migrations of a Postgres database. They run under a lock that is a table row: it works behind every pooler and on every engine, and
//! expires if its holder dies.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use diesel::Connection;
use diesel::dsl::sql;
use diesel::migration::Migration;
use diesel::pg::Pg;
use diesel::sql_types::{BigInt, Text};
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::MigrationHarness;
use tokio::runtime::Handle;
use tokio::time::Instant;
use vestry_ports::store::{StoreError, StoreResult};

use super::citus;
use super::connection::{Conn, classify};
use super::connector::Connector;
use super::manager::connect_with_options;
use super::repositories::migrations::applied_migrations;
use vestry_store_rows::migrations::missing;
use vestry_store_rows::settings::{PostgresUrl, Settings};

/// How long the lock outlives a holder that has stopped renewing it.
const LEASE_SECONDS: i64 = 15;
const LEASE: Duration = Duration::from_secs(LEASE_SECONDS.unsigned_abs());
const RENEW_EVERY: Duration = Duration::from_secs(4);
const ASK_EVERY: Duration = Duration::from_millis(100);
/// How long other processes wait in total. A migration that takes longer should not run at process start.
const PATIENCE: Duration = Duration::from_secs(300);
/// Pause after a migration that waited for a lock in vain. Statements that had queued behind it run in it.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// The message of 55P03, of which diesel keeps only the text.
const WAITED: &str = "canceling statement due to lock timeout";

/// Options that a migration session starts with: a migration has no time limit. Behind a pooler they are not available
/// ([`WITHOUT_LIMITS`]).
const OPTIONS: &str = "-c default_transaction_isolation=read\\ committed -c default_transaction_read_only=off \
     -c lock_timeout=0 -c statement_timeout=0 -c idle_in_transaction_session_timeout=0";

/// The same for one transaction, which waits two seconds for a lock: every later use of the table waits behind it (PR-86). A setting for a
/// pooled session would be inherited by its next client.
const LIMITS: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE; \
     SET LOCAL lock_timeout = 2000; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";

const CREATE_LOCK: &str = "CREATE TABLE IF NOT EXISTS migration_lock (\
    name TEXT COLLATE \"C\" NOT NULL, holder TEXT NOT NULL, expires_at INT8 NOT NULL, \
    CONSTRAINT migration_lock_name_key PRIMARY KEY (name))";

/// Takes the lock if it is free or expired. The time is the database's.
const TAKE_LOCK: &str = "INSERT INTO migration_lock (name, holder, expires_at) \
    VALUES ('migrations', $1, EXTRACT(EPOCH FROM clock_timestamp())::INT8 + $2) \
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at \
    WHERE migration_lock.expires_at < EXTRACT(EPOCH FROM clock_timestamp())::INT8 \
        OR migration_lock.holder = excluded.holder";

const RELEASE_LOCK: &str = "DELETE FROM migration_lock WHERE name = 'migrations' AND holder = $1";

/// Extends the lease of the lock.
const RENEW_LOCK: &str = "UPDATE migration_lock \
    SET expires_at = EXTRACT(EPOCH FROM clock_timestamp())::INT8 + $2 WHERE name = 'migrations' AND holder = $1";

/// Another process has taken the lock, because this one did not renew it.
#[derive(Debug)]
struct LostLock {
    /// The step that was finished last.
    after: Option<String>,
    /// The command to run.
    again: &'static str,
}

impl fmt::Display for LostLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("migration lock was lost; ")?;
        match &self.after {
            Some(after) => write!(f, "stopped after {after}")?,
            None => f.write_str("stopped before the first step")?,
        }
        write!(f, "; run {} again", self.again)
    }
}

impl Error for LostLock {}

/// How far a command is.
#[derive(Clone)]
struct Reached {
    command: &'static str,
    steps: Arc<Mutex<Steps>>,
}

#[derive(Default)]
struct Steps {
    done: Option<String>,
    current: Option<String>,
}

impl Reached {
    fn new(command: &'static str) -> Self {
        Self {
            command,
            steps: Arc::default(),
        }
    }

    fn steps(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the step before this one is done.
    fn begin(&self, step: &str) {
        let mut steps = self.steps();
        let before = steps.current.replace(step.to_owned());
        steps.done = before.or(steps.done.take());
    }

    fn lost(&self) -> LostLock {
        LostLock {
            after: self.steps().done.clone(),
            again: self.command,
        }
    }
}

/// Applies missing migrations; see `vestry_store_sql::migrate`.
pub async fn migrate(url: &PostgresUrl, settings: &Settings) -> StoreResult<Vec<String>> {
    let connector = connector(url, settings)?;
    let mut conn = open(&connector).await?;
    if missing_in(&mut conn).await?.is_empty() {
        return Ok(Vec::new());
    }
    let Some(mut lock) = Lock::wait(&connector, true).await? else {
        return Ok(Vec::new());
    };
    let (reached, holder) = (Reached::new("vestry migrate"), lock.holder.clone());
    let work = async {
        let applied = apply(conn, holder, reached.clone()).await?;
        // New tables are distributed like the rest.
        let mut conn = open(&connector).await?;
        if citus::is_distributed(&mut conn).await? {
            citus::distribute(&mut conn, &|table, _left| reached.begin(table)).await?;
        }
        Ok(applied)
    };
    let applied = tokio::select! {
        applied = work => applied,
        () = lock.renew() => Err(StoreError::Other(Box::new(reached.lost()))),
    };
    lock.release().await;
    applied
}

/// Distributes the tables over the servers of a Citus cluster; see `vestry_store_sql::distribute`.
pub async fn distribute(
    url: &PostgresUrl,
    settings: &Settings,
    progress: &(dyn Fn(&str, usize) + Sync),
) -> StoreResult<Vec<String>> {
    let connector = connector(url, settings)?;
    let mut conn = open(&connector).await?;
    let Some(mut lock) = Lock::wait(&connector, false).await? else {
        return Err(StoreError::Busy);
    };
    let reached = Reached::new("vestry migrate --distribute");
    let begins = |table: &str, left: usize| {
        reached.begin(table);
        progress(table, left);
    };
    let work = async {
        let tables = citus::distribute(&mut conn, &begins).await?;
        citus::clear(&mut conn).await?;
        Ok(tables)
    };
    let distributed = tokio::select! {
        distributed = work => distributed,
        () = lock.renew() => Err(StoreError::Other(Box::new(reached.lost()))),
    };
    lock.release().await;
    distributed
}

/// Uses its own application name, because distribution checks for other sessions of the service.
fn connector(url: &PostgresUrl, settings: &Settings) -> StoreResult<Connector> {
    let mut url = url.clone();
    url.config.application_name("vestry migrate");
    Connector::new(&url, settings)
}

/// Opens a separate connection: migrations can exceed all other time limits.
async fn open(connector: &Connector) -> StoreResult<Conn> {
    connect_with_options(&connector.with_options(OPTIONS), connector, true).await
}

async fn missing_in(conn: &mut Conn) -> StoreResult<Vec<String>> {
    let applied = applied_migrations(conn).await;
    let applied = applied.map_err(|error| classify(error, Some(conn)))?;
    Ok(missing(crate::versions()?, &applied))
}

/// Creates the lock table. Two concurrent creations can conflict on Postgres, even with `IF NOT EXISTS`.
async fn create_lock(conn: &mut Conn) -> StoreResult<()> {
    let mut tries = 0;
    loop {
        let created = conn.batch_execute(CREATE_LOCK).await;
        match created.map_err(|error| classify(error, Some(conn))) {
            Err(StoreError::Other(_) | StoreError::Retry) if tries < 20 => {
                tries += 1;
                tokio::time::sleep(ASK_EVERY).await;
            }
            outcome => return outcome,
        }
    }
}

/// Returns a name that no other holder has.
async fn unique_name(conn: &mut Conn) -> StoreResult<String> {
    let query = sql::<Text>("SELECT gen_random_uuid()::TEXT");
    let name = query.get_result(conn).await;
    name.map_err(|error| classify(error, Some(conn)))
}

/// Runs the migrations; the library supports only blocking connections.
async fn apply(conn: Conn, holder: String, reached: Reached) -> StoreResult<Vec<String>> {
    let applying = tokio::task::spawn_blocking(move || {
        let mut conn = AsyncConnectionWrapper::<AsyncPgConnection>::from(conn.into_inner());
        let mut applied = Vec::new();
        for migration in conn.pending_migrations(crate::MIGRATIONS)? {
            reached.begin(number_of(&migration.name().version().to_string()));
            let give_up = Instant::now() + PATIENCE;
            let version = loop {
                match run(&mut conn, &*migration, &holder, &reached) {
                    Err(error)
                        if error.to_string().contains(WAITED) && Instant::now() < give_up =>
                    {
                        tracing::warn!(migration = %migration.name(), "migration could not get a lock in two seconds and was rolled back; retrying");
                        Handle::current().block_on(tokio::time::sleep(RETRY_AFTER));
                    }
                    outcome => break outcome?,
                }
            };
            applied.push(version);
        }
        Ok(applied)
    });
    match applying.await {
        Ok(applied) => applied.map_err(StoreError::Other),
        Err(ended) => Err(StoreError::Other(Box::new(ended))),
    }
}

/// The number at the end of a version.
fn number_of(version: &str) -> &str {
    let start = version.len().saturating_sub(6);
    version.get(start..).unwrap_or(version)
}

/// Runs a migration. It is committed only while this process holds the lock.
fn run(
    conn: &mut AsyncConnectionWrapper<AsyncPgConnection>,
    migration: &dyn Migration<Pg>,
    holder: &str,
    reached: &Reached,
) -> Result<String, Box<dyn Error + Send + Sync>> {
    if !migration.metadata().run_in_transaction() {
        still_holds(conn, holder, reached)?;
        return Ok(conn.run_migration(migration)?.to_string());
    }
    conn.transaction(|conn| {
        diesel::connection::SimpleConnection::batch_execute(conn, LIMITS)?;
        let version = conn.run_migration(migration)?.to_string();
        still_holds(conn, holder, reached)?;
        Ok(version)
    })
}

/// Renews the lock in the current transaction.
fn still_holds(
    conn: &mut AsyncConnectionWrapper<AsyncPgConnection>,
    holder: &str,
    reached: &Reached,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let renew = diesel::sql_query(RENEW_LOCK)
        .bind::<Text, _>(holder)
        .bind::<BigInt, _>(LEASE_SECONDS);
    match diesel::RunQueryDsl::execute(renew, conn)? {
        0 => Err(Box::new(reached.lost())),
        _ => Ok(()),
    }
}

/// The lock row, held by one process while it migrates.
struct Lock {
    conn: Conn,
    holder: String,
}

impl Lock {
    /// Waits for the lock; returns `None` if the previous holder left nothing `to_apply`.
    async fn wait(connector: &Connector, to_apply: bool) -> StoreResult<Option<Self>> {
        let mut conn = open(connector).await?;
        create_lock(&mut conn).await?;
        let mut lock = Self {
            holder: unique_name(&mut conn).await?,
            conn,
        };
        let give_up = Instant::now() + PATIENCE;
        while !lock.take().await? {
            if to_apply && missing_in(&mut lock.conn).await?.is_empty() {
                return Ok(None);
            }
            if Instant::now() > give_up {
                return Err(StoreError::Busy);
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        Ok(Some(lock))
    }

    /// Tries to take the lock; returns whether this process holds it.
    async fn take(&mut self) -> StoreResult<bool> {
        let taken = self.execute(TAKE_LOCK).await?;
        Ok(taken == 1)
    }

    /// Renews the lock until it is lost: another process has it, or it has expired and could not be renewed.
    async fn renew(&mut self) {
        let mut renewed_at = Instant::now();
        loop {
            tokio::time::sleep(RENEW_EVERY).await;
            let asked_at = Instant::now();
            match self.execute(RENEW_LOCK).await {
                Ok(0) => return,
                Ok(_) => renewed_at = asked_at,
                Err(error) => {
                    tracing::warn!(error = %error, "migration lock renewal failed");
                    if renewed_at.elapsed() >= LEASE {
                        return;
                    }
                }
            }
        }
    }

    /// Releases the lock. If that fails, it expires.
    async fn release(&mut self) {
        let release = diesel::sql_query(RELEASE_LOCK).bind::<Text, _>(self.holder.as_str());
        if let Err(error) = release.execute(&mut self.conn).await {
            tracing::warn!(error = %error, "migration lock release failed; it will expire");
        }
    }

    async fn execute(&mut self, statement: &str) -> StoreResult<usize> {
        let query = diesel::sql_query(statement)
            .bind::<Text, _>(self.holder.as_str())
            .bind::<BigInt, _>(LEASE_SECONDS);
        let changed = query.execute(&mut self.conn).await;
        changed.map_err(|error| classify(error, Some(&mut self.conn)))
    }
}
