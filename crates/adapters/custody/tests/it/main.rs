//! Custody in a separate process.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a panic in a test helper is the test's failure message"
)]

mod memory;
