//! The attacks of `docs/requirements/attacks.md`, a test for each, over HTTP on both databases.
//!
//! Where the proof lies deeper than HTTP (in the check of a signature, in a crash), the test here is the part of it that a
//! client can see; the rest is named `attack_N` in the crate that it belongs to.

mod codes;
mod disabled;
mod dump;
mod enumeration;
mod factors;
mod federated;
mod flows;
mod guesses;
mod headers;
mod input;
mod lockout;
mod logs;
mod outward;
mod passwords;
pub(crate) mod people;
mod redirects;
mod retry;
mod sending;
mod sessions;
mod statistics;
mod takeover;
mod tenants;
mod timing;
mod unicode;
