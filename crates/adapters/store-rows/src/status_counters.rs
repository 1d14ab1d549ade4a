//! A statement that moves a user from one status count to another.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, HasSqlType, Text};

/// An upsert of two rows, which diesel supports for only one of the two databases. The rows are always locked in this order.
#[derive(QueryId)]
pub struct Recount {
    /// The App.
    pub app_id: String,
    /// The environment.
    pub environment: &'static str,
    /// The shard of the counter that counts the user.
    pub shard: i64,
    /// The status whose count is decremented.
    pub from: &'static str,
    /// The status whose count is incremented.
    pub to: &'static str,
}

impl<DB> QueryFragment<DB> for Recount
where
    DB: Backend + HasSqlType<Text> + HasSqlType<BigInt>,
    str: ToSql<Text, DB>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("INSERT INTO user_counts (app_id, environment, status, shard, users) VALUES ");
        for (begin, status, by) in [("(", self.from, &-1_i64), ("), (", self.to, &1_i64)] {
            out.push_sql(begin);
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
