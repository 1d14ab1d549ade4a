//! Custody in a process of its own.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a panic in a helper of a test is the test's failure message"
)]

mod memory;
