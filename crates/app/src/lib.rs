//! Use cases, one file each; the only place that opens transactions.
//!
//! A use case makes its decisions in the domain and does slow work (hashing, the vault, providers) before it begins a transaction. It then
//! writes the results, puts messages into the outbox in the same transaction, and commits. Nothing is sent before the commit. This crate
//! never sees SQL, HTTP or a private key.

pub mod admin;
pub mod audit;
pub mod caller;
pub mod codes;
pub mod delivery;
mod delivery_notes;
pub mod events;
mod failure_log;
pub mod fault;
pub mod idempotency;
pub mod links;
pub mod oauth;
pub mod passkeys;
pub mod passwords;
pub mod refusal;
pub mod rotation;
pub mod service;
pub mod sessions;
pub mod sweeping;
pub mod test_clock;
pub mod test_env;
pub mod totps;
pub mod users;
pub mod vault;
pub mod wallet_sign_in;
pub mod wallets;
pub mod webhooks;

mod admission;
mod anchor_watch;
mod audit_seals;
mod audit_trail;
mod budget;
mod change;
mod checkpoint_desk;
mod condition;
mod control_trail;
mod event_desk;
mod guard;
mod key_holds;
mod letters;
mod memory;
mod mint;
mod pace;
mod ports;
mod provider_connection;
mod reads;
mod refusal_log;
mod refusals;
mod run;
mod shards;
mod spraying;
mod starter;
mod together;
mod touches;
mod waiting_room;
mod webhook_desk;
mod webhook_notes;

pub use caller::{AuthenticateError, Caller};
pub use fault::Fault;
pub use ports::Ports;
pub use refusal::Refusal;
pub use service::{Service, Settings};
pub use starter::StartedBy;
