//! Vestry's domain types and rules: ids, users, identifiers, metadata, sessions, factors, codes, keys, wallets and limits.
//!
//! This crate deliberately has no I/O, no async code, no clock and no source of randomness. A rule that needs the time takes a
//! [`Timestamp`]; one that needs randomness takes bytes or a [`random::ByteSource`]. A value of a type from this crate has already been
//! validated.

pub mod action;
pub mod activity;
pub mod actor;
pub mod api_key;
pub mod app;
pub mod audit;
mod closed_list;
pub mod code;
pub mod config;
pub mod domain_name;
pub mod email;
pub mod envelope;
pub mod event;
pub mod extent;
pub mod idempotency;
pub mod ids;
pub mod invalid;
pub mod journal;
pub mod key_transfer;
pub mod limits;
pub mod link;
pub mod management_key;
pub mod management_scope;
pub mod message;
pub mod metadata;
pub mod metric;
pub mod number;
pub mod operation;
pub mod operator;
pub mod passkey;
pub mod password;
pub mod phone;
pub mod pkce;
pub mod provider;
pub mod random;
pub mod redirect;
pub mod rfc3339;
pub mod scope;
pub mod search;
pub mod secret;
pub mod session;
pub mod signing;
pub mod signing_key;
pub mod siwe;
pub mod strict_json;
pub mod test_clock;
pub mod text;
pub mod timestamp;
pub mod token;
pub mod totp;
pub mod user;
pub mod wallet;
pub mod wallet_sign_in;
pub mod webhook;
pub mod world;

pub use invalid::Invalid;
pub use secret::{Secret, overwrite_stack};
pub use timestamp::Timestamp;
pub use world::{Environment, World};
