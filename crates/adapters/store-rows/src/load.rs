//! Queries that return domain objects.

use vestry_ports::store::{StoreError, StoreResult};

/// Converts all rows to domain objects.
///
/// # Errors
/// If a row is corrupt.
pub fn read_all<R, D: TryFrom<R, Error = StoreError>>(rows: Vec<R>) -> StoreResult<Vec<D>> {
    rows.into_iter().map(D::try_from).collect()
}

/// Runs a query for reading and returns its rows as domain objects.
#[macro_export]
macro_rules! load_all {
    ($unit:ident, $query:expr) => {{
        let found = $query.load($unit.reading()?).await;
        $crate::load::read_all($unit.done(found)?)
    }};
}

/// Runs a query for reading and returns its first row as a domain object, if there is one.
#[macro_export]
macro_rules! load_first {
    ($unit:ident, $query:expr) => {{
        let found = $query.first($unit.reading()?).await;
        let found = $unit.done(diesel::OptionalExtension::optional(found))?;
        found.map(TryFrom::try_from).transpose()
    }};
}
