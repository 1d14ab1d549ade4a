//! Vectors, each with its source, and what must be refused.

mod addresses;
mod messages;
mod psbts;
mod support;
