//! The client against listeners on this machine: which destinations it reaches, and which not.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod calls;
mod guard;
mod limits;
