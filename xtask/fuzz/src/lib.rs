//! Shared code of the fuzz targets. Each target is a file in `targets/` with seeds in `corpus/`.
//!
//! A target passes untrusted bytes to the public function or port that the service calls. It panics not only on a crash: a parsed value
//! must print and parse to itself, a signature must verify with third-party code, and altered data must be rejected.

pub mod custody;
pub mod id_tokens;
pub mod input;
pub mod provider;
pub mod service;
pub mod wallets;
