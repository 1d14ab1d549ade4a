//! Signing in with a user's own wallet: a challenge, and a signature over it.
//!
//! The first signature of an address stores it as a read-only wallet of its user. Addresses whose keys are stored here cannot sign in: we
//! could make their signatures ourselves.

pub mod begin;
pub mod verify;

pub use begin::BeginWalletSignIn;
pub use verify::{SignedText, VerifiedWallet, VerifyWallet};
