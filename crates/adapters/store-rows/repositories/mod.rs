//! The repositories, compiled once for each backend. The parent module defines `Conn` and `dialect`.

mod account_trust;
mod activity;
mod api_keys;
mod app_keys;
mod apps;
mod audit;
mod audit_chains;
mod captured;
mod checkpoints;
mod codes;
mod control;
mod deliveries;
mod events;
mod idempotency;
mod identifiers;
mod imported_users;
mod key_references;
mod leases;
mod links;
mod lockouts;
mod management_keys;
pub(crate) mod migrations;
mod operators;
mod outbox;
mod passkeys;
mod passwords;
mod persistent_secrets;
mod providers;
mod quotas;
mod rate_windows;
mod recovery;
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
mod webhook_endpoints;
mod webhook_replays;
mod whole_users;

use vestry_store_rows::load::read_all;
use vestry_store_rows::{after, in_world, in_worlds, its_key, load_all, load_first, oldest_first};

use super::dialect;

pub(crate) use rate_windows::hit;
pub(crate) use unit::{Pooled, Site, Unit};

/// Converts the row count of a statement to the type that the ports use.
fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}
