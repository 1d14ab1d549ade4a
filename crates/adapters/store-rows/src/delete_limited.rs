//! A DELETE limited to a number of rows, which diesel cannot express.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_source::{QuerySource, Table};

/// `DELETE FROM table WHERE (key) IN (those)`, where `those` is a limited query that selects keys of the same table.
///
/// Neither Postgres nor standard SQL has `DELETE … LIMIT`, and the key is the only row identifier that works on every engine.
///
/// The statement is cached by its text.
pub struct DeleteLimited<F, K, Q> {
    table: F,
    key: K,
    those: Q,
}

impl<F, K, Q> DeleteLimited<F, K, Q> {
    /// Deletes the rows of this table whose keys the query selects.
    pub fn of<T>(table: T, those: Q) -> Self
    where
        T: Table<PrimaryKey = K> + QuerySource<FromClause = F>,
    {
        Self {
            table: table.from_clause(),
            key: table.primary_key(),
            those,
        }
    }
}

impl<F, K, Q> QueryId for DeleteLimited<F, K, Q> {
    type QueryId = ();

    /// Cached by its text.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<DB, F, K, Q> QueryFragment<DB> for DeleteLimited<F, K, Q>
where
    DB: Backend,
    F: QueryFragment<DB>,
    K: QueryFragment<DB>,
    Q: QueryFragment<DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("DELETE FROM ");
        self.table.walk_ast(out.reborrow())?;
        out.push_sql(" WHERE (");
        self.key.walk_ast(out.reborrow())?;
        out.push_sql(") IN (");
        self.those.walk_ast(out.reborrow())?;
        out.push_sql(")");
        Ok(())
    }
}

/// Deletes at most `SWEEP_STEP` of the rows that a query selects, and returns how many were deleted.
#[macro_export]
macro_rules! delete_limited {
    ($unit:ident, $table:ident, $old:expr) => {{
        let key = diesel::Table::primary_key(&$table::table);
        let those = $old.select(key).limit(vestry_ports::store::SWEEP_STEP);
        let delete = $crate::delete_limited::DeleteLimited::of($table::table, those);
        let deleted = delete.execute($unit.writing()?).await;
        $unit.done(deleted).map(count)
    }};
}
