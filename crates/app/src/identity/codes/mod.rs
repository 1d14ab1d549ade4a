//! One-time passcodes.

mod contact;
mod decoy;
pub mod send;
pub mod verify;

pub use send::{LoginOrCreate, LoginOrCreateByText, SendCode, SendCodeByText, SentCode, SentText};
pub use verify::{VerifiedCode, VerifyCode, VerifyCodeError};
