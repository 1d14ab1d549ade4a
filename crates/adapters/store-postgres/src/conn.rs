//! A connection, and what is sent over it together.
//!
//! A round trip costs the two sides more than most statements do: both are woken for it. So what opens a transaction goes with its first
//! statement, and what ends it with its last one where that may be.

use std::collections::BTreeSet;

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AsQuery, QueryFragment, QueryId};
use diesel_async::pooled_connection::PoolableConnection;
use diesel_async::{AsyncConnectionCore, AsyncPgConnection, SimpleAsyncConnection};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join};
use tokio::task::unconstrained;

/// A connection of this store.
pub struct Conn {
    inner: AsyncPgConnection,
    /// What opens a transaction and goes with the next statement.
    unsaid: Option<&'static str>,
    /// Whether the server keeps statements that were prepared.
    keeps_statements: bool,
    /// How many rows the inserts of events have that were prepared.
    told: BTreeSet<usize>,
}

impl Conn {
    pub(crate) const fn new(inner: AsyncPgConnection, keeps_statements: bool) -> Self {
        Self {
            inner,
            unsaid: None,
            keeps_statements,
            told: BTreeSet::new(),
        }
    }

    /// As diesel knows it.
    pub(crate) fn into_inner(self) -> AsyncPgConnection {
        self.inner
    }

    /// Whether nothing more can be said over it.
    pub(crate) fn is_broken(&mut self) -> bool {
        self.inner.is_broken()
    }

    /// Opens a transaction with the next statement.
    pub(crate) const fn begin_with_next(&mut self, begin: &'static str) {
        self.unsaid = Some(begin);
    }

    /// For statements that are sent together: they are polled together with `&mut &*connection`.
    ///
    /// # Errors
    /// No transaction could be opened.
    pub(crate) async fn opened(&mut self) -> QueryResult<&AsyncPgConnection> {
        if let Some(begin) = self.unsaid.take() {
            self.inner.batch_execute(begin).await?;
        }
        Ok(&self.inner)
    }

    /// Whether an insert of so many events was prepared, so that it is sent at once.
    pub(crate) fn has_told(&self, events: usize) -> bool {
        self.told.contains(&events)
    }

    /// An insert of so many events was carried out.
    pub(crate) fn note_told(&mut self, events: usize) {
        if self.keeps_statements {
            self.told.insert(events);
        }
    }

    /// Carries out the last statement of a transaction and commits, in one round trip. The statement must have been prepared: else the
    /// commit would be there before it.
    ///
    /// # Errors
    /// The statement failed, and with it the transaction; or the commit did.
    pub(crate) async fn last<T>(&mut self, statement: T) -> QueryResult<()>
    where
        T: QueryFragment<Pg> + QueryId,
    {
        let inner = self.opened().await?;
        let last = (&mut &*inner).execute_returning_count(statement);
        let mut commit = inner;
        // Polled first, it is sent first; the runtime must not make it wait for its turn before that.
        let (done, committed) = join(unconstrained(last), commit.batch_execute("COMMIT")).await;
        done.and(committed)
    }
}

/// A statement behind what opens its transaction: what is polled first is sent first.
async fn behind<T>(
    mut conn: &AsyncPgConnection,
    begin: &'static str,
    statement: BoxFuture<'_, QueryResult<T>>,
) -> QueryResult<T> {
    let (begun, done) = join(unconstrained(conn.batch_execute(begin)), statement).await;
    begun.and(done)
}

impl SimpleAsyncConnection for Conn {
    async fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        let Some(begin) = self.unsaid.take() else {
            return self.inner.batch_execute(query).await;
        };
        let mut inner = &self.inner;
        let statement = inner.batch_execute(query).boxed();
        behind(&self.inner, begin, statement).await
    }
}

impl AsyncConnectionCore for Conn {
    type ExecuteFuture<'conn, 'query> =
        <AsyncPgConnection as AsyncConnectionCore>::ExecuteFuture<'conn, 'query>;
    type LoadFuture<'conn, 'query> =
        <AsyncPgConnection as AsyncConnectionCore>::LoadFuture<'conn, 'query>;
    type Stream<'conn, 'query> = <AsyncPgConnection as AsyncConnectionCore>::Stream<'conn, 'query>;
    type Row<'conn, 'query> = <AsyncPgConnection as AsyncConnectionCore>::Row<'conn, 'query>;
    type Backend = Pg;

    fn load<'conn, 'query, T>(&'conn mut self, source: T) -> Self::LoadFuture<'conn, 'query>
    where
        T: AsQuery + 'query,
        T::Query: QueryFragment<Pg> + QueryId + 'query,
    {
        let Some(begin) = self.unsaid.take() else {
            return self.inner.load(source);
        };
        let mut inner = &self.inner;
        behind(inner, begin, inner.load(source)).boxed()
    }

    fn execute_returning_count<'conn, 'query, T>(
        &'conn mut self,
        source: T,
    ) -> Self::ExecuteFuture<'conn, 'query>
    where
        T: QueryFragment<Pg> + QueryId + 'query,
    {
        let Some(begin) = self.unsaid.take() else {
            return self.inner.execute_returning_count(source);
        };
        let mut inner = &self.inner;
        behind(inner, begin, inner.execute_returning_count(source)).boxed()
    }
}
