//! Statements that a connection prepares once, though diesel would prepare them each time.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// An UPDATE, or an INSERT that updates what it meets.
///
/// Diesel takes it that the text of those may be another each time, as a changeset may leave columns out, and has the database parse
/// and plan them for each call, which is a round trip of its own on Postgres. Ours have one text each, or one of a few. They are kept
/// by their text, so that two texts are two statements. On SQLite without a future only what is loaded is kept, not what is executed.
pub struct Prepared<Q>(pub Q);

impl<Q: Query> Query for Prepared<Q> {
    type SqlType = Q::SqlType;
}

// Where SQLite is called without a future.
impl<Q, Conn> diesel::RunQueryDsl<Conn> for Prepared<Q> {}

impl<Q> QueryId for Prepared<Q> {
    type QueryId = ();

    /// Known by its text.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<DB: Backend, Q: QueryFragment<DB>> QueryFragment<DB> for Prepared<Q> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }

    // Diesel shows this method to connections only; the feature by which it does is switched on by diesel-async.
    fn is_safe_to_cache_prepared(&self, _backend: &DB) -> QueryResult<bool> {
        Ok(true)
    }
}
