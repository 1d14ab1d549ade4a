//! The domain's rules compared with independent implementations.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod phone_reference;
