//! A connection, and what is sent over it together.
//!
//! A round trip costs the two sides more than most statements do: both are woken for it. So a statement whose answer nobody waits for is
//! kept until the next one and sent together with that: what opens a transaction, inserts, and the events before a commit.

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
use vestry_store_rows::rank::Rank;

/// A statement that waits for the next one.
type Kept = Box<dyn for<'a> FnOnce(&'a AsyncPgConnection) -> BoxFuture<'a, QueryResult<()>> + Send>;

/// A statement that waits for the commit.
type Last = Box<dyn for<'a> FnOnce(&'a mut Conn) -> BoxFuture<'a, QueryResult<()>> + Send>;

/// A connection of this store.
pub struct Conn {
    inner: AsyncPgConnection,
    /// What is sent with the next statement, in this order.
    kept: Vec<Kept>,
    /// What is carried out just before the commit, each with its rank.
    last: Vec<(Rank, Last)>,
    /// Whether a transaction was opened since it was lent: outside of one there may be no next statement.
    in_transaction: bool,
    /// Whether the server keeps statements that were prepared.
    keeps_prepared: bool,
    /// The statements that were prepared, of those that may be kept: their types, and what else their text depends on.
    prepared: HashSet<(TypeId, usize)>,
}

impl Conn {
    pub(crate) fn new(inner: AsyncPgConnection, keeps_prepared: bool) -> Self {
        Self {
            inner,
            kept: Vec::new(),
            last: Vec::new(),
            in_transaction: false,
            keeps_prepared,
            prepared: HashSet::new(),
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

    /// Forgets the transaction of whoever had it before.
    pub(crate) fn start_over(&mut self) {
        self.kept.clear();
        self.last.clear();
        self.in_transaction = false;
    }

    /// Whether something waits for the next statement.
    pub(crate) const fn is_keeping(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Opens a transaction with the next statement.
    pub(crate) fn begin(&mut self, begin: &'static str) {
        self.in_transaction = true;
        self.kept.push(Box::new(move |mut conn| {
            async move { conn.batch_execute(begin).await }.boxed()
        }));
    }

    /// Carries out a statement of a transaction with the next one, which fails where this one did. `variant` is what its text depends on
    /// besides its type.
    ///
    /// Where it was not prepared yet it is carried out at once: else the next one would be there before it.
    ///
    /// # Errors
    /// It was carried out, and failed.
    pub(crate) async fn later<T>(&mut self, statement: T, variant: usize) -> QueryResult<()>
    where
        T: QueryFragment<Pg> + QueryId + Send + 'static,
    {
        let text = (TypeId::of::<T>(), variant);
        if self.in_transaction && self.prepared.contains(&text) {
            self.kept.push(Box::new(move |mut conn| {
                let done = conn.execute_returning_count(statement);
                done.map(|done| done.map(drop)).boxed()
            }));
            return Ok(());
        }
        // Diesel has others prepared each time.
        let stays_prepared = self.keeps_prepared && statement.is_safe_to_cache_prepared(&Pg)?;
        self.execute_returning_count(statement).await?;
        if stays_prepared {
            self.prepared.insert(text);
        }
        Ok(())
    }

    /// Carries out a statement of a transaction just before it commits: one that changes a row which many transactions change, and which
    /// is then locked for the commit alone and not for all that comes before it. They are carried out in the order of their ranks.
    ///
    /// # Errors
    /// There is no transaction, so it was carried out, and failed.
    pub(crate) async fn last<T>(&mut self, rank: Rank, statement: T) -> QueryResult<()>
    where
        T: QueryFragment<Pg> + QueryId + Send + 'static,
    {
        if !self.in_transaction {
            return self.later(statement, 0).await;
        }
        let last: Last = Box::new(move |conn| conn.later(statement, 0).boxed());
        self.last.push((rank, last));
        Ok(())
    }

    /// Carries out what was left for the end. The commit comes next.
    ///
    /// # Errors
    /// One of them was carried out, and failed.
    pub(crate) async fn finish(&mut self) -> QueryResult<()> {
        let mut last = std::mem::take(&mut self.last);
        last.sort_by_key(|(rank, _)| *rank);
        for (_, statement) in last {
            statement(self).await?;
        }
        Ok(())
    }

    /// For statements that are sent together: they are polled together with `&mut &*connection`.
    ///
    /// # Errors
    /// Something that was kept failed.
    pub(crate) async fn settled(&mut self) -> QueryResult<&AsyncPgConnection> {
        if self.is_keeping() {
            let kept = std::mem::take(&mut self.kept);
            together(&self.inner, kept, ready(Ok(())).boxed()).await?;
        }
        Ok(&self.inner)
    }
}

/// Sends what was kept, then a statement, and waits for the answers.
///
/// Each is sent when it is polled first. The runtime must not make one of them wait for its turn: a later one would be sent before it.
/// The answers are taken together, since an answer that nobody takes holds up those behind it.
async fn together<T>(
    conn: &AsyncPgConnection,
    kept: Vec<Kept>,
    statement: BoxFuture<'_, QueryResult<T>>,
) -> QueryResult<T> {
    let mut sent = Vec::with_capacity(kept.len());
    for kept in kept {
        let mut kept = Box::pin(maybe_done(unconstrained(kept(conn))));
        let _may_be_done = poll!(&mut kept);
        sent.push(kept);
    }
    let (_all_done, done) = join(join_all(&mut sent), statement).await;
    // After one that failed the server refuses all others, so the first one says what was wrong.
    for kept in &mut sent {
        kept.as_mut().take_output().transpose()?;
    }
    done
}

impl SimpleAsyncConnection for Conn {
    async fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        if !self.is_keeping() {
            return self.inner.batch_execute(query).await;
        }
        let kept = std::mem::take(&mut self.kept);
        let mut inner = &self.inner;
        let statement = inner.batch_execute(query).boxed();
        together(&self.inner, kept, statement).await
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
        if !self.is_keeping() {
            return self.inner.load(source);
        }
        let kept = std::mem::take(&mut self.kept);
        let mut inner = &self.inner;
        together(inner, kept, inner.load(source)).boxed()
    }

    fn execute_returning_count<'conn, 'query, T>(
        &'conn mut self,
        source: T,
    ) -> Self::ExecuteFuture<'conn, 'query>
    where
        T: QueryFragment<Pg> + QueryId + 'query,
    {
        if !self.is_keeping() {
            return self.inner.execute_returning_count(source);
        }
        let kept = std::mem::take(&mut self.kept);
        let mut inner = &self.inner;
        together(inner, kept, inner.execute_returning_count(source)).boxed()
    }
}
