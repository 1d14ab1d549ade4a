//! Statements that are prepared once per connection, although diesel would prepare them on every call.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// An UPDATE or an upsert.
///
/// Diesel assumes that the text of these statements can change on every call, because a changeset can leave columns out. It therefore has
/// the database parse and plan them each time, which costs an extra round trip on Postgres. Our statements have one text each, or one of a
/// few. They are cached by text, so two texts are two statements. The synchronous SQLite connection caches only loaded statements, not
/// executed ones.
pub struct Prepared<Q>(pub Q);

impl<Q: Query> Query for Prepared<Q> {
    type SqlType = Q::SqlType;
}

// For synchronous use of SQLite.
impl<Q, Conn> diesel::RunQueryDsl<Conn> for Prepared<Q> {}

impl<Q> QueryId for Prepared<Q> {
    type QueryId = ();

    /// Cached by its text.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<DB: Backend, Q: QueryFragment<DB>> QueryFragment<DB> for Prepared<Q> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }

    // Only connections can see this method of diesel; diesel-async enables the feature that exposes it.
    fn is_safe_to_cache_prepared(&self, _backend: &DB) -> QueryResult<bool> {
        Ok(true)
    }
}
