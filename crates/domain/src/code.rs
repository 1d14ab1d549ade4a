//! One-time passcodes: what is kept of them and when they die.

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
/// `expires_in` when none was sent.
pub const DEFAULT_EXPIRES_IN: Seconds = Seconds(60);
/// Tries that one code allows (OTP-4).
pub const MAX_TRIES: i64 = 5;
/// Failures in a row, over all codes of one identifier, after which every further one costs a wait (OTP-5).
pub const FAILURES_BEFORE_WAIT: i64 = 20;

/// Where a code was sent, named by the id of the address or number.
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
                "method_id must be the email_… or pn_… id that the send call answered",
            )
        })
    }
}

/// What a code is good for; a code of one purpose never serves another (OTP-7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodePurpose {
    /// Proving to read what is sent to the identifier, which signs in.
    SignIn,
}

impl CodePurpose {
    /// As stored and as bound into the code's hash.
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
            _ => Err(Invalid::value("purpose", "unknown purpose of a code")),
        }
    }
}

/// The one live code of an identifier and purpose. A new one takes the place of the old (OTP-6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// App and environment.
    pub world: World,
    /// Where it was sent.
    pub method_id: MethodId,
    /// What it is good for.
    pub purpose: CodePurpose,
    /// Who it signs in.
    pub user_id: UserId,
    /// Whether a step asked for it that takes anybody in (login-or-create), and not one that names a user (attack 1).
    pub for_anybody: bool,
    /// Keyed hash of the digits, bound to world, purpose and identifier (OTP-8).
    pub mac: Mac,
    /// The device of the send step, when it was sent.
    pub fingerprint: Option<DeviceFingerprint>,
    /// Whether the step that asked for it made the user, which a repeat of that step answers again (M-5).
    pub user_created: bool,
    /// The address as written in the request; `None` for a number.
    pub asked_as: Option<Email>,
    /// Whether it went to that spelling, as it does until the address is verified; then it goes to the verified one.
    pub sent_as_asked: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// From this second on it is dead.
    pub expires_at: Timestamp,
}

impl Code {
    /// The spelling of the address that it proves, where that is not the verified one.
    pub fn sent_to(&self) -> Option<&Email> {
        self.asked_as.as_ref().filter(|_| self.sent_as_asked)
    }
}

/// What was typed for a code, without the spaces that people put between digits. `None` when it cannot be a code at all, and so
/// is no guess (M-17).
pub fn typed(text: &str) -> Option<Secret<String>> {
    digits_typed(text, &[DIGITS, LONG_DIGITS])
}

/// The digits of a text, if they are as many as one of these and nothing but spaces stands between and around them.
pub(crate) fn digits_typed(text: &str, lengths: &[usize]) -> Option<Secret<String>> {
    let dense = text.chars().filter(|c| !c.is_whitespace());
    let dense = Secret::new(dense.collect::<String>());
    let digits = dense.expose();
    let is_code =
        lengths.contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_code.then_some(dense)
}

/// What the keyed hash of a code covers: the parts of OTP-7's tuple and the digits.
pub fn bound_parts<'a>(purpose: CodePurpose, method_id: &'a str, digits: &'a str) -> [&'a [u8]; 3] {
    [
        purpose.as_str().as_bytes(),
        method_id.as_bytes(),
        digits.as_bytes(),
    ]
}

/// The wait that the n-th failure in a row costs, counted over all codes of the identifier (OTP-5).
///
/// Nothing up to [`FAILURES_BEFORE_WAIT`]; then one minute, doubling, at most a day.
pub fn wait_after(failures: i64) -> Option<Seconds> {
    let beyond = failures - FAILURES_BEFORE_WAIT;
    if beyond < 0 {
        return None;
    }
    let doublings = u32::try_from(beyond).unwrap_or(u32::MAX).min(11);
    Some(Seconds((60_i64 << doublings).min(86_400)))
}

/// Addresses and numbers that behave in a fixed way under test keys, so that an integrator can test every outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// Always takes `000000`.
    Ok,
    /// Every code is expired at once.
    Expired,
    /// No code is ever right.
    Wrong,
    /// The transport refuses the message.
    Bounce,
    /// The message arrives after five seconds.
    Slow,
}

impl Reserved {
    /// The code that [`Reserved::Ok`] takes.
    pub const OK_CODE: &'static str = "000000";

    /// The reserved meaning of an address of `vestry.test`, by its local part; `ok+anything@vestry.test` is
    /// `ok@vestry.test` for another user, so that tests can run in parallel.
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

    /// The reserved meaning of a number. None of these numbers belongs to anybody.
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
