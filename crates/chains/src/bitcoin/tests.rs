//! Vectors, each with its source, and what must be refused.

mod addresses;
mod messages;
pub(super) mod support;
mod taproot;
