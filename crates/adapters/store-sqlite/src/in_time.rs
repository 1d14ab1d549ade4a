//! A function of SQL that ends a statement whose time is over.
//!
//! SQLite can be interrupted, but only by a handle of the connection, which diesel does not give away. An error of a function
//! ends a statement as well, and a statement that takes long looks at many rows.

use std::sync::LazyLock;
use std::time::Instant;

use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{BigInt, Bool};
use diesel::sqlite::Sqlite;
use diesel::{QueryResult, SqliteConnection, define_sql_function};

define_sql_function! {
    /// True until a moment, and an error from then on. `row` changes with each row, so that SQLite asks for each.
    fn vestry_in_time(moment: BigInt, row: BigInt) -> Bool;
}

/// How the function is called, up to its arguments.
pub(crate) const CALL: &str = "vestry_in_time(";

/// What the error says.
pub(crate) const TOO_LATE: &str = "the statement took longer than it may";

/// What moments are counted from.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A moment as the function takes it: microseconds of this process.
pub(crate) fn moment(at: Instant) -> i64 {
    let passed = at.saturating_duration_since(*START);
    i64::try_from(passed.as_micros()).unwrap_or(i64::MAX)
}

/// Makes the function known to a connection.
pub(crate) fn register(conn: &mut SqliteConnection) -> QueryResult<()> {
    vestry_in_time_utils::register_nondeterministic_impl(conn, |end: i64, _row: i64| InTime {
        is_over: moment(Instant::now()) >= end,
    })
}

/// The answer for one row.
#[derive(Debug)]
struct InTime {
    is_over: bool,
}

impl ToSql<Bool, Sqlite> for InTime {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        if self.is_over {
            return Err(TOO_LATE.into());
        }
        out.set_value(1);
        Ok(IsNull::No)
    }
}
