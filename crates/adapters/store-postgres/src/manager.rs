//! What the pools hold.

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
use super::primary;

/// Oldest connection that is given out: after a failover or a change of addresses the pool moves with it.
const OLDEST: Duration = Duration::from_secs(30 * 60);

/// What every session is told at its start. A pooler between transactions knows no start: it refuses these or drops them, and there
/// each transaction says itself that it writes, and the two limits ([`BEGIN_BARE`]). Nothing here is ever `SET` for a session, since behind a
/// pooler that would be somebody else's next.
///
/// The limits end sooner what somebody would have to wait for. The isolation is for statements without a transaction; where an
/// operator's default is another one and there is a pooler, they are run again when they lose.
const OPTIONS: &str = "-c default_transaction_isolation=read\\ committed -c default_transaction_read_only=off \
     -c lock_timeout=5s -c idle_in_transaction_session_timeout=30s";

/// Whether the session was told.
const IS_TOLD: &str = "current_setting('lock_timeout') = '5s'";

/// Everything here is correct under READ COMMITTED; another default of the database is not inherited by accident.
///
/// What is sent together with this must not be carried out without it, so it may not fail where the next statement would not: a standby
/// refuses to begin with READ WRITE, and may have been promoted a moment later.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// The same where a session does not keep what it was told at its start ([`OPTIONS`]). After a SET that is refused, the transaction
/// is there and refuses all.
const BEGIN_BARE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET TRANSACTION READ WRITE; \
     SET LOCAL lock_timeout = '5s'; SET LOCAL idle_in_transaction_session_timeout = '30s'";

/// Opens connections, and throws dead ones away (K4).
pub(crate) struct Manager {
    /// As the URL says.
    plain: Connector,
    /// With [`OPTIONS`].
    telling: Connector,
    keep_statements: bool,
    /// Whether sessions were found that were not told.
    is_bare: AtomicBool,
}

impl Manager {
    pub(super) fn new(connector: Connector, keep_statements: bool) -> Self {
        Self {
            telling: connector.telling(OPTIONS),
            plain: connector,
            keep_statements,
            is_bare: AtomicBool::new(false),
        }
    }

    /// What opens a writing transaction.
    pub(super) fn begin(&self) -> &'static str {
        match self.is_bare() {
            true => BEGIN_BARE,
            false => BEGIN,
        }
    }

    /// Whether sessions were found that were not told: a pooler stands before the server.
    pub(super) fn is_bare(&self) -> bool {
        // Named in full: every value has a method `load` where diesel's are in scope.
        AtomicBool::load(&self.is_bare, Ordering::Relaxed)
    }

    /// A session that was told, or one of a pooler.
    async fn open(&self) -> StoreResult<Conn> {
        if self.is_bare() {
            return connect(&self.plain, self.keep_statements).await;
        }
        let mut connection =
            connect_telling(&self.telling, &self.plain, self.keep_statements).await?;
        let told = diesel::select(sql::<Bool>(IS_TOLD))
            .get_result(&mut connection)
            .await;
        if !told.map_err(|error| classify(error, Some(&mut connection)))? {
            self.is_bare.store(true, Ordering::Relaxed);
        }
        Ok(connection)
    }
}

/// A connection that was told something at its start, or one of a pooler that refuses to be told.
pub(super) async fn connect_telling(
    telling: &Connector,
    plain: &Connector,
    keeps_statements: bool,
) -> StoreResult<Conn> {
    match connect(telling, keeps_statements).await {
        Err(refusal) if is_of_options(&refusal) => connect(plain, keeps_statements).await,
        outcome => outcome,
    }
}

/// What PgBouncer says to a start that tells more than it keeps.
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
        // Boxed: the handshake is large and rare, and its future lies inside that of every call.
        Box::pin(self.open()).await
    }

    async fn recycle(&self, connection: &mut Conn, metrics: &Metrics) -> RecycleResult<StoreError> {
        if connection.is_broken() {
            return Err(RecycleError::message("the connection is closed"));
        }
        if primary::may_have_moved(metrics.created) {
            return Err(RecycleError::message("another server may be the primary"));
        }
        if metrics.age() > OLDEST {
            return Err(RecycleError::message("the connection is old"));
        }
        connection.start_over();
        Ok(())
    }
}

/// A connection as the server gives it.
pub(super) async fn connect(connector: &Connector, keeps_statements: bool) -> StoreResult<Conn> {
    let (client, connection) = connector.open().await?;
    let opened = AsyncPgConnection::try_from_client_and_connection(client, connection).await;
    let mut inner = opened.map_err(|refused| StoreError::Unavailable(Box::new(refused)))?;
    if !keeps_statements {
        inner.set_prepared_statement_cache_size(CacheSize::Disabled);
    }
    Ok(Conn::new(inner, keeps_statements))
}
