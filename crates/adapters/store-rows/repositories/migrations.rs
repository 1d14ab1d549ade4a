//! The record of applied migrations.

use diesel::QueryResult;
use diesel::dsl::sql;
use diesel::prelude::QueryDsl;
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use vestry_ports::store::StoreResult;

use super::Unit;
use super::dialect::{self, Conn};
use vestry_store_rows::schema::__diesel_schema_migrations as book;

/// Returns the applied versions; none for an empty database.
pub(crate) async fn applied_migrations(conn: &mut Conn) -> QueryResult<Vec<String>> {
    let books = sql::<BigInt>(dialect::COUNT_BOOKS_OF_MIGRATIONS);
    if books.get_result::<i64>(conn).await? == 0 {
        return Ok(Vec::new());
    }
    book::table.select(book::version).load(conn).await
}

impl Unit {
    /// Whether the table that marks an unfinished restore exists.
    pub(crate) async fn is_half_restored(&mut self) -> StoreResult<bool> {
        let marks = sql::<BigInt>(dialect::COUNT_UNFINISHED_RESTORES);
        let found = marks.get_result::<i64>(self.reading()?).await;
        Ok(self.done(found)? > 0)
    }

    /// Returns the applied versions.
    pub(crate) async fn applied_migrations(&mut self) -> StoreResult<Vec<String>> {
        let applied = applied_migrations(self.reading()?).await;
        self.done(applied)
    }
}
