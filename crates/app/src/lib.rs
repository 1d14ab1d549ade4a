//! Use cases, one file each; the only place that opens transactions.
//!
//! A use case makes its decisions in the domain and does slow work (hashing, the vault, providers) before it begins a transaction. It then
//! writes the results, puts messages into the outbox in the same transaction, and commits. Nothing is sent before the commit. This crate
//! never sees SQL, HTTP or a private key.

pub mod audit;
pub mod delivery;
pub mod idempotency;
pub mod identity;
pub mod kernel;
pub mod operators;
pub mod platform;
pub mod recovery;
pub mod wallets;

pub use identity::SignInBinding;
pub use kernel::Ports;
pub use kernel::caller::{AuthenticateError, Caller};
pub use kernel::fault::Fault;
pub use kernel::limited_call::LimitedCall;
pub use kernel::page::PageSize;
pub use kernel::precondition::Precondition;
pub use kernel::principal::Principal;
pub use kernel::refusal::Refusal;
pub use kernel::root_key::RootKeyTrouble;
pub use kernel::service::{ConsoleAddress, Service, Settings};
pub use vestry_ports::meter::{Counted, Meter};
