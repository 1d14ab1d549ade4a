//! A connection that pipelines statements.
//!
//! A round trip costs both sides more than most statements do, because it wakes both. A statement whose result nothing waits for is
//! therefore deferred and sent together with the next one. That applies to opening transactions, to inserts, and to the events before a
//! commit.

use std::any::TypeId;
use std::collections::HashSet;

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AsQuery, QueryFragment, QueryId};
use diesel_async::pooled_connection::PoolableConnection;
use diesel_async::{AsyncConnectionCore, AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::{BoxFuture, join, join_all, maybe_done, ready};
use futures_util::{FutureExt, poll};
use tokio::task::unconstrained;
use vestry_store_rows::lock_order::Rank;

/// A statement deferred to the next one.
type Deferred =
    Box<dyn for<'a> FnOnce(&'a AsyncPgConnection) -> BoxFuture<'a, QueryResult<()>> + Send>;

/// A statement deferred to the commit.
type AtCommit = Box<dyn for<'a> FnOnce(&'a mut Conn) -> BoxFuture<'a, QueryResult<()>> + Send>;

/// A connection of this store.
pub struct Conn {
    inner: AsyncPgConnection,
    /// Statements to send with the next one, in this order.
    deferred: Vec<Deferred>,
    /// Statements to run just before the commit, each with its rank.
    at_commit: Vec<(Rank, AtCommit)>,
    /// Whether a transaction was opened since the connection was taken from the pool: outside of one there may be no next statement.
    in_transaction: bool,
    /// Whether the server keeps prepared statements.
    keeps_prepared: bool,
    /// The cacheable statements that have been prepared: their types, and the variants that their text depends on.
    prepared: HashSet<(TypeId, usize)>,
}

impl Conn {
    pub(crate) fn new(inner: AsyncPgConnection, keeps_prepared: bool) -> Self {
        Self {
            inner,
            deferred: Vec::new(),
            at_commit: Vec::new(),
            in_transaction: false,
            keeps_prepared,
            prepared: HashSet::new(),
        }
    }

    /// Returns the underlying diesel connection.
    pub(crate) fn into_inner(self) -> AsyncPgConnection {
        self.inner
    }

    /// Whether the connection is unusable.
    pub(crate) fn is_broken(&mut self) -> bool {
        self.inner.is_broken()
    }

    /// Forgets the transaction of the previous user.
    pub(crate) fn reset(&mut self) {
        self.deferred.clear();
        self.at_commit.clear();
        self.in_transaction = false;
    }

    /// Whether a statement is deferred.
    pub(crate) const fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// Opens a transaction with the next statement.
    pub(crate) fn begin(&mut self, begin: &'static str) {
        self.in_transaction = true;
        self.deferred.push(Box::new(move |mut conn| {
            async move { conn.batch_execute(begin).await }.boxed()
        }));
    }

    /// Defers a statement of a transaction to the next one, which fails if this one does. `variant` is what its text depends on besides its
    /// type.
    ///
    /// A statement that is not prepared yet runs at once, because preparing it would let the next one overtake it.
    ///
    /// # Errors
    /// The statement ran at once and failed.
    pub(crate) async fn defer<T>(&mut self, statement: T, variant: usize) -> QueryResult<()>
    where
        T: QueryFragment<Pg> + QueryId + Send + 'static,
    {
        let text = (TypeId::of::<T>(), variant);
        if self.in_transaction && self.prepared.contains(&text) {
            self.deferred.push(Box::new(move |mut conn| {
                let done = conn.execute_returning_count(statement);
                done.map(|done| done.map(drop)).boxed()
            }));
            return Ok(());
        }
        // Diesel prepares the others every time.
        let stays_prepared = self.keeps_prepared && statement.is_safe_to_cache_prepared(&Pg)?;
        self.execute_returning_count(statement).await?;
        if stays_prepared {
            self.prepared.insert(text);
        }
        Ok(())
    }

    /// Defers a statement to just before the commit. It is meant for rows that many transactions change: they are then locked only during
    /// the commit, not for the rest of the transaction. These statements run in the order of their ranks.
    ///
    /// # Errors
    /// There is no transaction, so the statement ran at once and failed.
    pub(crate) async fn defer_to_commit<T>(&mut self, rank: Rank, statement: T) -> QueryResult<()>
    where
        T: QueryFragment<Pg> + QueryId + Send + 'static,
    {
        if !self.in_transaction {
            return self.defer(statement, 0).await;
        }
        let deferred: AtCommit = Box::new(move |conn| conn.defer(statement, 0).boxed());
        self.at_commit.push((rank, deferred));
        Ok(())
    }

    /// Runs the statements deferred to the commit. The commit must follow.
    ///
    /// # Errors
    /// One of them ran and failed.
    pub(crate) async fn finish(&mut self) -> QueryResult<()> {
        let mut statements = std::mem::take(&mut self.at_commit);
        statements.sort_by_key(|(rank, _)| *rank);
        for (_, statement) in statements {
            statement(self).await?;
        }
        Ok(())
    }

    /// Flushes deferred statements, and returns the connection for statements that are sent together: poll them together with `&mut
    /// &*connection`.
    ///
    /// # Errors
    /// A deferred statement failed.
    pub(crate) async fn flush_deferred(&mut self) -> QueryResult<&AsyncPgConnection> {
        if self.has_deferred() {
            let deferred = std::mem::take(&mut self.deferred);
            pipelined(&self.inner, deferred, ready(Ok(())).boxed()).await?;
        }
        Ok(&self.inner)
    }
}

/// Sends the deferred statements, then another one, and waits for all results.
///
/// Each is sent when it is first polled. The runtime must not delay one of them, since a later one would then be sent first. The results
/// are read together, because an unread result holds up those after it.
async fn pipelined<T>(
    conn: &AsyncPgConnection,
    deferred: Vec<Deferred>,
    statement: BoxFuture<'_, QueryResult<T>>,
) -> QueryResult<T> {
    let mut sent = Vec::with_capacity(deferred.len());
    for deferred in deferred {
        let mut deferred = Box::pin(maybe_done(unconstrained(deferred(conn))));
        let _may_be_done = poll!(&mut deferred);
        sent.push(deferred);
    }
    let (_all_done, done) = join(join_all(&mut sent), statement).await;
    // After a failure the server refuses all later statements, so the first error is the cause.
    for deferred in &mut sent {
        deferred.as_mut().take_output().transpose()?;
    }
    done
}

impl SimpleAsyncConnection for Conn {
    async fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        if !self.has_deferred() {
            return self.inner.batch_execute(query).await;
        }
        let deferred = std::mem::take(&mut self.deferred);
        let mut inner = &self.inner;
        let statement = inner.batch_execute(query).boxed();
        pipelined(&self.inner, deferred, statement).await
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
        if !self.has_deferred() {
            return self.inner.load(source);
        }
        let deferred = std::mem::take(&mut self.deferred);
        let mut inner = &self.inner;
        pipelined(inner, deferred, inner.load(source)).boxed()
    }

    fn execute_returning_count<'conn, 'query, T>(
        &'conn mut self,
        source: T,
    ) -> Self::ExecuteFuture<'conn, 'query>
    where
        T: QueryFragment<Pg> + QueryId + 'query,
    {
        if !self.has_deferred() {
            return self.inner.execute_returning_count(source);
        }
        let deferred = std::mem::take(&mut self.deferred);
        let mut inner = &self.inner;
        pipelined(inner, deferred, inner.execute_returning_count(source)).boxed()
    }
}
