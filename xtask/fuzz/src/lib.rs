//! What the fuzz targets share. Each target is one file in `targets/`, its seeds lie in `corpus/`.
//!
//! A target reads bytes from outside through the same public function or port that the service calls, and panics when more is
//! true than that nothing crashed: what was read must print and read again as the same, what was signed must verify by
//! somebody else's code, what was altered must be refused.

pub mod custody;
pub mod id_tokens;
pub mod input;
pub mod provider;
pub mod service;
pub mod wallets;
