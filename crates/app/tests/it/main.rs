//! The use cases over fakes of the world and real cryptography.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a panic is how a test fails"
)]

mod api_keys;
mod budgets;
mod captured;
mod codes;
mod delivery;
mod faults;
mod interposed;
mod jwt;
mod leaks;
mod redirect_urls;
mod reserved;
mod rig;
mod scopes;
mod send;
mod session_life;
mod settings;
mod signing_keys;
mod tamper;
mod totps;
mod trio;
mod users;
mod vault;
mod wallet_sign_in;
mod wallets;
