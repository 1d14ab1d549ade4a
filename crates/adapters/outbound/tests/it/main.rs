//! The client against listeners on this machine: where it goes, and where it does not.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod calls;
mod guard;
mod limits;
