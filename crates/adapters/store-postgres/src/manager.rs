//! What the pools hold.

use std::time::Duration;

use deadpool::managed::{Metrics, RecycleError, RecycleResult};
use diesel::connection::CacheSize;
use diesel_async::pooled_connection::PoolableConnection;
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use vestry_ports::store::{StoreError, StoreResult};

use super::connection::classify;
use super::connector::Connector;
use super::primary;

/// Oldest connection that is given out: after a failover or a change of addresses the pool moves with it.
const OLDEST: Duration = Duration::from_secs(30 * 60);

/// What every connection says first. Nothing depends on it being kept by a pooler in between: a transaction names its
/// isolation itself, and the two limits only end sooner what somebody would have to wait for.
const SETUP: &str = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED; \
                     SET lock_timeout = '5s'; \
                     SET idle_in_transaction_session_timeout = '30s'";

/// Opens connections, and throws dead ones away (K4).
pub(crate) struct Manager {
    connector: Connector,
    keep_statements: bool,
}

impl Manager {
    pub(super) const fn new(connector: Connector, keep_statements: bool) -> Self {
        Self {
            connector,
            keep_statements,
        }
    }
}

impl deadpool::managed::Manager for Manager {
    type Type = AsyncPgConnection;
    type Error = StoreError;

    async fn create(&self) -> StoreResult<AsyncPgConnection> {
        // Boxed: the handshake is large and rare, and its future lies inside that of every call.
        let mut connection = Box::pin(connect(&self.connector)).await?;
        let set_up = connection.batch_execute(SETUP).await;
        set_up.map_err(|error| classify(error, Some(&mut connection)))?;
        if !self.keep_statements {
            connection.set_prepared_statement_cache_size(CacheSize::Disabled);
        }
        Ok(connection)
    }

    async fn recycle(
        &self,
        connection: &mut AsyncPgConnection,
        metrics: &Metrics,
    ) -> RecycleResult<StoreError> {
        if connection.is_broken() {
            return Err(RecycleError::message("the connection is closed"));
        }
        if primary::may_have_moved(metrics.created) {
            return Err(RecycleError::message("another server may be the primary"));
        }
        if metrics.age() > OLDEST {
            return Err(RecycleError::message("the connection is old"));
        }
        Ok(())
    }
}

/// A connection as the server gives it.
pub(super) async fn connect(connector: &Connector) -> StoreResult<AsyncPgConnection> {
    let (client, connection) = connector.open().await?;
    AsyncPgConnection::try_from_client_and_connection(client, connection)
        .await
        .map_err(|refused| StoreError::Unavailable(Box::new(refused)))
}
