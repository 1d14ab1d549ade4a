//! The service's only HTTP client.
//!
//! Guarantees for every call:
//! - **Limits.** Connecting and the whole call have time limits. A response body has a maximum size; a larger one is refused
//!   ([`Outbound::call`]) or truncated ([`Outbound::call_and_cut`]).
//! - **Only to the intended host.** Redirects are returned, not followed. No proxy of the environment is used. The certificate must name
//!   the host and come from an authority of this machine or of Mozilla's list.
//! - **Never unencrypted**, except to this machine, and into the operator's networks with a client that goes nowhere else
//!   ([`Reach::only`]). No unencrypted request goes to a public address that the operator did not name.
//! - **No internal addresses.** A name may resolve only to public addresses and to the networks that the operator allows; with
//!   [`Reach::only`] to the latter alone. The check is in the resolver whose result the connection uses, so that a name cannot mean one
//!   address to the check and another to the connection (attack 23). A pooled connection serves later calls to the same scheme, host and
//!   port of the same client, whose reach never changes.
//! - **No secrets in errors**: they contain the cause, and never the request, its destination, or the response.

mod address;
mod client;
mod failure;
mod reach;
mod resolver;
mod trust;

pub use client::{Answer, Call, Limits, Outbound};
pub use failure::{BadHeader, NotSetUp, OutboundError};
pub use reach::Reach;
