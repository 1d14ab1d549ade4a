//! The attacks of `docs/requirements/attacks.md`, one test each, over HTTP on both databases.
//!
//! Where the proof is below HTTP (a signature check, a crash), the test here covers the part that a client can see. The rest is named
//! `attack_N` in the crate concerned.

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
pub(crate) mod restricted_keys;
mod retry;
mod sending;
mod sessions;
mod statistics;
mod takeover;
mod tenants;
mod timing;
mod unicode;
