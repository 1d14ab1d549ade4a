//! A statement that changes the numbers of users per status.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, HasSqlType, Text};

/// An upsert of several rows, which diesel supports for only one of the two databases. The rows are locked in the order of `changes`.
pub struct StatusCounters<const N: usize> {
    /// The App.
    pub app_id: String,
    /// The environment.
    pub environment: &'static str,
    /// The shard of the counter that counts the user.
    pub shard: i64,
    /// Each status and the number to add to its count.
    pub changes: [(&'static str, i64); N],
}

impl<const N: usize> QueryId for StatusCounters<N> {
    type QueryId = Self;

    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<DB, const N: usize> QueryFragment<DB> for StatusCounters<N>
where
    DB: Backend + HasSqlType<Text> + HasSqlType<BigInt>,
    str: ToSql<Text, DB>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("INSERT INTO user_counts (app_id, environment, status, shard, users) VALUES ");
        for (index, (status, by)) in self.changes.iter().enumerate() {
            out.push_sql(if index == 0 { "(" } else { "), (" });
            out.push_bind_param::<Text, str>(&self.app_id)?;
            out.push_sql(", ");
            out.push_bind_param::<Text, str>(self.environment)?;
            out.push_sql(", ");
            out.push_bind_param::<Text, str>(status)?;
            out.push_sql(", ");
            out.push_bind_param::<BigInt, i64>(&self.shard)?;
            out.push_sql(", ");
            out.push_bind_param::<BigInt, i64>(by)?;
        }
        out.push_sql(
            ") ON CONFLICT (app_id, environment, status, shard) \
             DO UPDATE SET users = user_counts.users + excluded.users",
        );
        Ok(())
    }
}
