//! Row structs and their conversions to domain types. The same structs serve both backends.
//!
//! Every value is checked when it is read. An invalid one is [`StoreError::Corrupt`], which names table and column and never the value.

pub mod activity;
pub mod apps;
pub mod audit;
pub mod codes;
pub mod control;
pub mod events;
pub mod idempotency;
pub mod links;
pub mod management_keys;
pub mod messages;
pub mod operators;
pub mod passkeys;
pub mod passwords;
pub mod providers;
pub mod sessions;
pub mod totps;
pub mod users;
pub mod wallet_challenges;
pub mod wallet_imports;
pub mod wallets;
pub mod webhooks;
pub mod whole_users;

use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;
use vestry_domain::World;
use vestry_ports::store::{StoreError, StoreResult};

/// A table whose values are being read.
pub struct Table(pub &'static str);

impl Table {
    /// Returns the error for a corrupt value in one of its columns.
    pub const fn corrupt(&self, column: &'static str) -> StoreError {
        StoreError::Corrupt {
            table: self.0,
            column,
        }
    }

    /// Parses an id, or another type with a text form.
    pub fn parse<T: FromStr>(&self, column: &'static str, text: &str) -> StoreResult<T> {
        text.parse().map_err(|_unreadable| self.corrupt(column))
    }

    /// Parses the two columns that every key begins with.
    pub fn world(&self, app_id: &str, environment: &str) -> StoreResult<World> {
        Ok(World::new(
            self.parse("app_id", app_id)?,
            self.parse("environment", environment)?,
        ))
    }

    /// Parses a JSON document.
    pub fn json<T: DeserializeOwned>(&self, column: &'static str, text: &str) -> StoreResult<T> {
        serde_json::from_str(text).map_err(|_unreadable| self.corrupt(column))
    }

    /// Parses a SHA-256.
    pub fn digest(&self, column: &'static str, bytes: &[u8]) -> StoreResult<[u8; 32]> {
        bytes.try_into().map_err(|_length| self.corrupt(column))
    }

    /// Parses a version or count, which is stored as a signed 64-bit number because all engines support that.
    pub fn small(&self, column: &'static str, number: i64) -> StoreResult<u32> {
        u32::try_from(number).map_err(|_outside| self.corrupt(column))
    }
}

/// Serializes a value as JSON text.
pub fn to_json<T: Serialize>(value: &T) -> StoreResult<String> {
    serde_json::to_string(value).map_err(|unwritable| StoreError::Other(Box::new(unwritable)))
}
