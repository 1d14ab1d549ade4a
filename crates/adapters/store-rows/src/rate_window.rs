//! SQL for the rate-limit windows that [`LimitVerdict`] describes, which open with their first use.

use vestry_domain::Timestamp;
use vestry_domain::limits::{Limit, LimitVerdict};

/// The condition under which a stored window is over at `now`. Either it has closed, or it opened so far in the future that the clock that
/// set it must have been wrong (F8).
#[macro_export]
macro_rules! is_over {
    ($table:ident, $limit:expr, $now:expr) => {
        ($table::opened_at.le(($now - $limit.window).unix()))
            .or($table::opened_at.gt(($now + $limit.window).unix()))
    };
}
pub use is_over;

/// Returns the verdict on a use that the database has counted.
pub fn verdict(limit: Limit, used: i64, opened_at: i64) -> LimitVerdict {
    let used = u32::try_from(used).unwrap_or(u32::MAX);
    LimitVerdict::on(limit, used, Timestamp::from_unix(opened_at))
}
