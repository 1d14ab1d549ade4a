//! What every use case builds on: the service and its ports, the caller, idempotent runs, errors and shared state.

mod admission;
pub(crate) mod batcher;
pub mod caller;
pub(crate) mod change;
pub(crate) mod condition;
pub mod fault;
pub mod idempotency;
pub(crate) mod key_pins;
pub(crate) mod mint;
mod ports;
pub mod principal;
pub(crate) mod provider_connection;
pub mod refusal;
pub(crate) mod run;
pub mod service;
pub(crate) mod shards;
pub(crate) mod state;
pub(crate) mod throttle;

pub use ports::Ports;
