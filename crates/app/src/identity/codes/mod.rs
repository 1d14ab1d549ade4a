//! One-time passcodes.

mod contact;
mod decoy;
mod digits;
pub mod send;
pub mod verify;

pub(crate) use digits::{digits_mac, new_digits};
pub use send::{LoginOrCreate, LoginOrCreateByText, SendCode, SendCodeByText, SentCode, SentText};
pub use verify::{VerifiedCode, VerifyCode, VerifyCodeError};
