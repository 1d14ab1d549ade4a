//! The rules of the domain beside implementations that are not ours.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod phone_reference;
