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
pub mod events;
mod failure_log;
pub mod fault;
pub mod idempotency;
pub mod links;
pub mod oauth;
mod outbox_outcomes;
pub mod passkeys;
pub mod passwords;
pub mod refusal;
pub mod retention;
pub mod rotation;
pub mod service;
pub mod sessions;
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
mod batcher;
mod budget;
mod change;
mod checkpoint_state;
mod condition;
mod control_trail;
mod delivery_outcomes;
mod delivery_scheduler;
mod event_heads;
mod guard;
mod key_holds;
mod last_seen;
mod memory;
mod mint;
mod outbox_message;
mod pace;
mod ports;
mod provider_connection;
mod reads;
mod refusal_log;
mod refusals;
mod run;
mod shards;
mod sign_in_binding;
mod spraying;
mod waiting_room;

pub use caller::{AuthenticateError, Caller};
pub use fault::Fault;
pub use ports::Ports;
pub use refusal::Refusal;
pub use service::{Service, Settings};
pub use sign_in_binding::SignInBinding;
