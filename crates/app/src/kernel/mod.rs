//! What every use case builds on: the service and its ports, the caller, events, runs, errors and shared state.

pub(crate) mod act;
mod admission;
pub(crate) mod batcher;
pub(crate) mod built_in;
pub mod caller;
mod callers;
pub(crate) mod change;
pub(crate) mod emit;
pub mod fault;
pub(crate) mod gate;
pub(crate) mod journal;
pub(crate) mod key_pins;
pub(crate) mod letter;
pub mod limited_call;
pub(crate) mod measures;
pub(crate) mod mint;
pub(crate) mod page;
pub(crate) mod partition;
mod ports;
pub(crate) mod precondition;
pub mod principal;
pub(crate) mod provider_connection;
pub mod refusal;
pub(crate) mod replay_guard;
pub mod root_key;
pub(crate) mod run;
pub mod service;
pub(crate) mod shards;
pub(crate) mod source;
pub(crate) mod state;
pub(crate) mod throttle;

pub use ports::Ports;
