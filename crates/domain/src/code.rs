//! One-time passcodes: their stored form and expiry.

use std::fmt;
use std::str::FromStr;

use crate::email::Email;
use crate::envelope::Mac;
use crate::ids::{EmailId, PhoneNumberId, UserId};
use crate::session::DeviceFingerprint;
use crate::timestamp::Seconds;
use crate::{Invalid, Secret, Timestamp, World};

/// Decimal digits of a code (OTP-1).
pub const DIGITS: usize = 6;
/// Decimal digits of a code while the App is under attack (M-6).
pub const LONG_DIGITS: usize = 8;
/// Shortest and longest `expires_in`, in minutes (OTP-2).
pub const EXPIRES_IN_MINUTES: (i64, i64) = (1, 10);
/// Default for `expires_in`.
pub const DEFAULT_EXPIRES_IN: Seconds = Seconds(60);
/// Maximum number of attempts per code (OTP-4).
pub const MAX_TRIES: i64 = 5;
/// Consecutive failures, over all codes of one identifier, after which each further one causes a lockout (OTP-5).
pub const FAILURES_BEFORE_WAIT: i64 = 20;

/// The destination of a code, given by the id of the address or number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MethodId {
    /// An e-mail address.
    Email(EmailId),
    /// A phone number.
    Phone(PhoneNumberId),
}

impl MethodId {
    /// `email` or `phone_number`.
    pub const fn method_type(self) -> &'static str {
        match self {
            Self::Email(_) => "email",
            Self::Phone(_) => "phone_number",
        }
    }
}

impl fmt::Display for MethodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Email(id) => id.fmt(f),
            Self::Phone(id) => id.fmt(f),
        }
    }
}

impl FromStr for MethodId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let email = text.parse().map(Self::Email);
        let phone = text.parse().map(Self::Phone);
        email.or(phone).map_err(|_neither| {
            Invalid::value(
                "method_id",
                "method_id must be the email_… or pn_… id returned by the send call",
            )
        })
    }
}

/// The purpose of a code. A code for one purpose is never accepted for another (OTP-7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodePurpose {
    /// Signing in, by proving access to messages sent to the identifier.
    SignIn,
}

impl CodePurpose {
    /// The stored name, which the code's hash also covers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SignIn => "sign_in",
        }
    }
}

impl FromStr for CodePurpose {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "sign_in" => Ok(Self::SignIn),
            _ => Err(Invalid::value("purpose", "unknown code purpose")),
        }
    }
}

/// The one active code of an identifier and purpose. A new code replaces the previous one (OTP-6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// App and environment.
    pub world: World,
    /// The destination.
    pub method_id: MethodId,
    /// The purpose.
    pub purpose: CodePurpose,
    /// The user that it signs in.
    pub user_id: UserId,
    /// Whether a login-or-create step requested it, rather than one that names a user (attack 1).
    pub for_anybody: bool,
    /// MAC of the digits, bound to world, purpose and identifier (OTP-8).
    pub mac: Mac,
    /// The device of the send step, if given.
    pub fingerprint: Option<DeviceFingerprint>,
    /// Whether the step that requested it created the user; a repeat of that step returns the same value (M-5).
    pub user_created: bool,
    /// The address as written in the request; `None` for a number.
    pub asked_as: Option<Email>,
    /// Whether it was sent to that spelling. Until the address is verified, it is; afterwards, codes go to the verified spelling.
    pub sent_as_asked: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires; no longer valid from this second on.
    pub expires_at: Timestamp,
}

impl Code {
    /// The spelling of the address that the code proves, if it differs from the verified one.
    pub fn sent_to(&self) -> Option<&Email> {
        self.asked_as.as_ref().filter(|_| self.sent_as_asked)
    }
}

/// The digits of an entered code, without any spaces between them. `None` if the text cannot be a code; it then does not count as a guess
/// (M-17).
pub fn typed(text: &str) -> Option<Secret<String>> {
    digits_typed(text, &[DIGITS, LONG_DIGITS])
}

/// The digits of a text, if their number is one of `lengths` and there is nothing but spaces between and around them.
pub(crate) fn digits_typed(text: &str, lengths: &[usize]) -> Option<Secret<String>> {
    let dense = text.chars().filter(|c| !c.is_whitespace());
    let dense = Secret::new(dense.collect::<String>());
    let digits = dense.expose();
    let is_code =
        lengths.contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_code.then_some(dense)
}

/// The parts that the MAC of a code covers: those of OTP-7's tuple and the digits.
pub fn bound_parts<'a>(purpose: CodePurpose, method_id: &'a str, digits: &'a str) -> [&'a [u8]; 3] {
    [
        purpose.as_str().as_bytes(),
        method_id.as_bytes(),
        digits.as_bytes(),
    ]
}

/// The lockout after the n-th consecutive failure, counted over all codes of the identifier (OTP-5).
///
/// None up to [`FAILURES_BEFORE_WAIT`]; then one minute, doubling up to a day.
pub fn wait_after(failures: i64) -> Option<Seconds> {
    let beyond = failures - FAILURES_BEFORE_WAIT;
    if beyond < 0 {
        return None;
    }
    let doublings = u32::try_from(beyond).unwrap_or(u32::MAX).min(11);
    Some(Seconds((60_i64 << doublings).min(86_400)))
}

/// Addresses and numbers with a fixed behaviour under test keys, so that integrators can test every outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// Always accepts `000000`.
    Ok,
    /// Every code expires immediately.
    Expired,
    /// No code is ever correct.
    Wrong,
    /// The transport rejects the message.
    Bounce,
    /// The message arrives after five seconds.
    Slow,
}

impl Reserved {
    /// The code that [`Reserved::Ok`] accepts.
    pub const OK_CODE: &'static str = "000000";

    /// The reserved meaning of an address at `vestry.test`, by its local part. `ok+anything@vestry.test` behaves like `ok@vestry.test` for
    /// a different user, so that tests can run in parallel.
    pub fn of_email(identity: &crate::email::EmailIdentity) -> Option<Self> {
        let local = identity.as_str().strip_suffix("@vestry.test")?;
        match local.split_once('+').map_or(local, |(name, _tag)| name) {
            "ok" => Some(Self::Ok),
            "expired" => Some(Self::Expired),
            "wrong" => Some(Self::Wrong),
            "bounce" => Some(Self::Bounce),
            "slow" => Some(Self::Slow),
            _ => None,
        }
    }

    /// The reserved meaning of a number. None of these numbers is assigned to a subscriber.
    pub fn of_phone(number: &crate::phone::PhoneNumber) -> Option<Self> {
        match number.as_str() {
            "+15005550006" => Some(Self::Ok),
            "+15005550001" => Some(Self::Expired),
            "+15005550002" => Some(Self::Wrong),
            "+15005550003" => Some(Self::Bounce),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
