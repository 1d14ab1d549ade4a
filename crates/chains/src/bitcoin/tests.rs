//! Vectors, each with its source, and what must be refused.

mod addresses;
mod messages;
mod official;
pub(super) mod support;
mod taproot;
