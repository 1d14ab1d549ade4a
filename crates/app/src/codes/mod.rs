//! One-time passcodes.

pub mod send;
pub mod verify;

pub use send::{LoginOrCreate, SendCode, SendCodeError, SentCode};
pub use verify::{VerifiedCode, VerifyCode, VerifyCodeError};
