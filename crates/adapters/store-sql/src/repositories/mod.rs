//! The repositories, compiled once for each backend: the parent module says what `Conn` and `dialect` are.

mod api_keys;
mod app_keys;
mod apps;
mod audit;
mod budgets;
mod captured;
mod codes;
mod guards;
mod idempotency;
mod imported_users;
mod links;
pub(crate) mod migrations;
mod outbox;
mod passkeys;
mod passwords;
mod providers;
mod rate_windows;
mod redirect_urls;
mod sessions;
mod signing_keys;
mod totps;
mod unit;
mod user_deletion;
mod user_index;
mod user_search;
mod users;
mod wallet_challenges;
mod wallet_imports;
mod wallets;

use super::dialect;

pub(crate) use rate_windows::hit;
pub(crate) use unit::{Pooled, Unit};

/// The rows of a table that belong to a world. Every query of a world begins here: it is the wall between them.
macro_rules! in_world {
    ($table:ident, $world:expr) => {
        $table::table.filter(
            $table::app_id
                .eq($world.app_id.to_string())
                .and($table::environment.eq($world.environment.as_str())),
        )
    };
}
pub(super) use in_world;

/// The condition of the join of a wallet with its key.
macro_rules! its_key {
    () => {
        (wallet_keys::app_id.eq(wallets::app_id))
            .and(wallet_keys::environment.eq(wallets::environment))
            .and(wallet_keys::wallet_id.eq(wallets::id))
    };
}
pub(super) use its_key;

/// All rows as what the domain calls them.
fn read_all<R, D>(rows: Vec<R>) -> vestry_ports::store::StoreResult<Vec<D>>
where
    D: TryFrom<R, Error = vestry_ports::store::StoreError>,
{
    rows.into_iter().map(D::try_from).collect()
}

/// How many rows a statement changed, as the ports count.
fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}
