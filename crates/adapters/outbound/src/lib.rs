//! The one HTTP client of the service.
//!
//! What holds for every call:
//! - **In time.** Connecting and the whole call have limits; the body of an answer has a largest size.
//! - **Where it was meant to go.** Redirects are answers and not instructions; no proxy of the environment is used; the
//!   certificate must name the host and come from an authority of this machine or of Mozilla's list.
//! - **Never in clear**, except to this machine.
//! - **Not inwards.** A name may lead to public addresses only, and to the networks that the operator allows. The check sits in
//!   the resolver whose answer the connection uses, so that a name cannot mean one address to the check and another to the
//!   connection (attack 23).
//! - **No secrets in errors**: they say what went wrong and never what was sent, where to, or what came back.

mod address;
mod client;
mod failure;
mod reach;
mod resolver;
mod trust;

pub use client::{Answer, Call, Limits, Outbound};
pub use failure::{NotSetUp, OutboundError};
pub use reach::Reach;
