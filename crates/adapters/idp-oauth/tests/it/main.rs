//! The adapter against providers on this machine: some modelled on real ones, some evil.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod app;
mod check;
mod evil;
mod inwards;
mod keys;
mod liberal;
mod shapes;
