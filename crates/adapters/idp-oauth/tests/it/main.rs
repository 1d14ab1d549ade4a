//! The adapter against providers on this machine: some in the shape of the real ones, some that are evil.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod app;
mod evil;
mod inwards;
mod keys;
mod liberal;
mod shapes;
