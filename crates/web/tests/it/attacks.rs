//! The attack classes of the security bar, one test a row, over HTTP on both databases.
//!
//! Where the proof lies deeper than HTTP (rows of a signature check, of a crash), the test here is the part of it that a
//! client can see; the rest is named `attack_N` in the crate that it belongs to.

mod aids;
mod codes;
mod dump;
mod enumeration;
mod factors;
mod federated;
mod flows;
mod guesses;
mod headers;
mod input;
mod logs;
mod outward;
mod passwords;
mod redirects;
mod retry;
mod sending;
mod sessions;
mod statistics;
mod takeover;
mod tenants;
mod timing;
mod unicode;
