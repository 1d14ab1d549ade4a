//! The pools' connection manager.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool::managed::{Metrics, RecycleError, RecycleResult};
use diesel::connection::CacheSize;
use diesel::dsl::sql;
use diesel::sql_types::Bool;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl};
use vestry_ports::store::{StoreError, StoreResult};

use super::connection::{Conn, classify};
use super::connector::Connector;
use super::failover;

/// Maximum age of a connection that is handed out: after a failover or an address change, the pool follows.
const OLDEST: Duration = Duration::from_secs(30 * 60);

/// Options that every session starts with. A transaction pooler has no session start: it rejects or drops them. In that case each
/// transaction sets its write mode and the two limits ([`BEGIN_BARE`]). None of them is ever `SET` for a session, because behind a pooler
/// the next client would inherit it.
///
/// The limits bound how long others have to wait. The isolation level is for statements without a transaction. If there is a pooler and the
/// operator's default differs, such statements are retried after a serialization failure.
const OPTIONS: &str = "-c default_transaction_isolation=read\\ committed -c default_transaction_read_only=off \
     -c lock_timeout=5s -c idle_in_transaction_session_timeout=30s";

/// Whether the session has the options.
const HAS_OPTIONS: &str = "current_setting('lock_timeout') = '5s'";

/// Every statement here is correct under READ COMMITTED; the database's default is not inherited by accident.
///
/// Statements that are sent together with this one must not run without it. It must therefore not fail where the next statement would
/// succeed. A standby refuses to begin with READ WRITE, and may be promoted a moment later.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// The same for sessions that did not keep [`OPTIONS`]. If a SET is refused, the transaction is open and refuses every statement.
const BEGIN_BARE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET TRANSACTION READ WRITE; \
     SET LOCAL lock_timeout = '5s'; SET LOCAL idle_in_transaction_session_timeout = '30s'";

/// Opens connections, and discards dead ones (K4).
pub(crate) struct Manager {
    /// Connects as the URL says.
    plain: Connector,
    /// Connects with [`OPTIONS`].
    with_options: Connector,
    keep_statements: bool,
    /// Whether sessions without the options were found.
    is_bare: AtomicBool,
}

impl Manager {
    pub(super) fn new(connector: Connector, keep_statements: bool) -> Self {
        Self {
            with_options: connector.with_options(OPTIONS),
            plain: connector,
            keep_statements,
            is_bare: AtomicBool::new(false),
        }
    }

    /// Returns the statement that opens a writing transaction.
    pub(super) fn begin(&self) -> &'static str {
        match self.is_bare() {
            true => BEGIN_BARE,
            false => BEGIN,
        }
    }

    /// Whether sessions without the options were found, which means that there is a pooler in front of the server.
    pub(super) fn is_bare(&self) -> bool {
        // Fully qualified: diesel's traits give every value a `load` method.
        AtomicBool::load(&self.is_bare, Ordering::Relaxed)
    }

    /// Opens a session with the options, or one behind a pooler without them.
    async fn open(&self) -> StoreResult<Conn> {
        if self.is_bare() {
            return connect(&self.plain, self.keep_statements).await;
        }
        let mut connection =
            connect_with_options(&self.with_options, &self.plain, self.keep_statements).await?;
        let has_options = diesel::select(sql::<Bool>(HAS_OPTIONS))
            .get_result(&mut connection)
            .await;
        if !has_options.map_err(|error| classify(error, Some(&mut connection)))? {
            self.is_bare.store(true, Ordering::Relaxed);
        }
        Ok(connection)
    }
}

/// Opens a connection with start-up options, or without them if a pooler rejects those.
pub(super) async fn connect_with_options(
    with_options: &Connector,
    plain: &Connector,
    keeps_statements: bool,
) -> StoreResult<Conn> {
    match connect(with_options, keeps_statements).await {
        Err(refusal) if is_of_options(&refusal) => connect(plain, keeps_statements).await,
        outcome => outcome,
    }
}

/// PgBouncer's error for start-up options that it does not support.
fn is_of_options(refusal: &StoreError) -> bool {
    let StoreError::Unavailable(cause) = refusal else {
        return false;
    };
    let said = cause
        .downcast_ref::<tokio_postgres::Error>()
        .and_then(tokio_postgres::Error::as_db_error);
    said.is_some_and(|said| said.message().contains("unsupported startup parameter"))
}

impl deadpool::managed::Manager for Manager {
    type Type = Conn;
    type Error = StoreError;

    async fn create(&self) -> StoreResult<Conn> {
        // Boxed: the handshake is large and rare, and its future would be part of every call's future.
        Box::pin(self.open()).await
    }

    async fn recycle(&self, connection: &mut Conn, metrics: &Metrics) -> RecycleResult<StoreError> {
        if connection.is_broken() {
            return Err(RecycleError::message("the connection is closed"));
        }
        if failover::may_be_stale(metrics.created) {
            return Err(RecycleError::message("another server may be the primary"));
        }
        if metrics.age() > OLDEST {
            return Err(RecycleError::message("the connection is old"));
        }
        connection.reset();
        Ok(())
    }
}

/// Opens a connection.
pub(super) async fn connect(connector: &Connector, keeps_statements: bool) -> StoreResult<Conn> {
    let (client, connection) = connector.open().await?;
    let opened = AsyncPgConnection::try_from_client_and_connection(client, connection).await;
    let mut inner = opened.map_err(|refused| StoreError::Unavailable(Box::new(refused)))?;
    if !keeps_statements {
        inner.set_prepared_statement_cache_size(CacheSize::Disabled);
    }
    Ok(Conn::new(inner, keeps_statements))
}
