//! An SQL function that ends a statement after its deadline.
//!
//! SQLite can be interrupted, but only through a handle of the connection, which diesel does not expose. An error in a function ends a
//! statement as well, and a slow statement reads many rows.

use std::sync::LazyLock;
use std::time::Instant;

use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{BigInt, Bool};
use diesel::sqlite::Sqlite;
use diesel::{QueryResult, SqliteConnection, define_sql_function};

define_sql_function! {
    /// True until a moment, and an error after it. `row` differs for each row, so that SQLite calls the function for each.
    fn vestry_in_time(moment: BigInt, row: BigInt) -> Bool;
}

/// The call of the function, up to its arguments.
pub(crate) const CALL: &str = "vestry_in_time(";

/// The text of the error.
pub(crate) const TOO_LATE: &str = "the statement took longer than it may";

/// The reference point of moments.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Converts an instant to the function's argument, in microseconds since `START`.
pub(crate) fn moment(at: Instant) -> i64 {
    let passed = at.saturating_duration_since(*START);
    i64::try_from(passed.as_micros()).unwrap_or(i64::MAX)
}

/// Registers the function with a connection.
pub(crate) fn register(conn: &mut SqliteConnection) -> QueryResult<()> {
    vestry_in_time_utils::register_nondeterministic_impl(conn, |end: i64, _row: i64| InTime {
        is_over: moment(Instant::now()) >= end,
    })
}

/// The result for one row.
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
