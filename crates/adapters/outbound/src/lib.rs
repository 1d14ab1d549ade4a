//! The one HTTP client of the service.
//!
//! What holds for every call:
//! - **In time.** Connecting and the whole call have limits; the body of an answer has a largest size, past which it is refused
//!   ([`Outbound::call`]) or cut ([`Outbound::call_and_cut`]).
//! - **Where it was meant to go.** Redirects are answers and not instructions; no proxy of the environment is used; the
//!   certificate must name the host and come from an authority of this machine or of Mozilla's list.
//! - **Never in clear**, except to this machine, and into the operator's networks with a client that goes nowhere else
//!   ([`Reach::only`]). Nothing goes to a public address in clear that the operator did not name.
//! - **Not inwards.** A name may lead to public addresses only, and to the networks that the operator allows; with
//!   [`Reach::only`] to the latter alone. The check sits in the resolver whose answer the connection uses, so that a name cannot
//!   mean one address to the check and another to the connection (attack 23). A connection that is kept serves later calls to the
//!   same scheme, host and port of the same client, whose reach never changes.
//! - **No secrets in errors**: they say what went wrong and never what was sent, where to, or what came back.

mod address;
mod client;
mod failure;
mod reach;
mod resolver;
mod trust;

pub use client::{Answer, Call, Limits, Outbound};
pub use failure::{BadHeader, NotSetUp, OutboundError};
pub use reach::Reach;
