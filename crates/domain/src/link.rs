//! Magic links: their purposes, stored form and expiry.

use std::fmt;
use std::str::FromStr;

use crate::email::Email;
use crate::ids::{EmailId, SessionId, UserId};
use crate::pkce::CodeChallenge;
use crate::random::{self, ByteSource};
use crate::redirect::RedirectKind;
use crate::session::DeviceFingerprint;
use crate::timestamp::Seconds;
use crate::token::TokenHash;
use crate::{Invalid, Secret, Timestamp, World};

/// Characters of the token in a link: 285 bits (ML-1).
pub const TOKEN_LENGTH: usize = 48;
/// Characters of the token that the requesting browser keeps: 762 bits.
pub const ORIGIN_TOKEN_LENGTH: usize = 128;
/// Minimum and maximum lifetime of a link, in minutes (ML-7).
pub const EXPIRES_IN_MINUTES: (i64, i64) = (5, 10_080);
/// Default lifetime of a link, in minutes.
pub const DEFAULT_EXPIRES_IN_MINUTES: i64 = 60;
/// How long after a link's use the browser that requested it can fetch the outcome.
pub const ORIGIN_WINDOW: Seconds = Seconds(600);
/// Maximum lifetime of the fallback code in the same mail as a link (OTP-2).
pub const FALLBACK_CODE_LIFETIME: Seconds = Seconds(600);

/// The purpose of a link. A link for one purpose is never accepted for another (ML-6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkPurpose {
    /// Mailed to a person who wants to sign in.
    Login,
    /// Mailed to a person who was invited.
    Invite,
    /// Returned to the App, which delivers it to the user itself.
    Create,
    /// Mailed to a person who wants a new password. Never accepted for signing in.
    PasswordReset,
}

impl LinkPurpose {
    /// All purposes.
    pub const ALL: [Self; 4] = [Self::Login, Self::Invite, Self::Create, Self::PasswordReset];
    /// The purposes that `magic_links/verify` accepts.
    pub const SIGNING_IN: [Self; 3] = [Self::Login, Self::Invite, Self::Create];

    /// The stored name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Invite => "invite",
            Self::Create => "create",
            Self::PasswordReset => "password_reset",
        }
    }
}

impl fmt::Display for LinkPurpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for LinkPurpose {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|purpose| purpose.as_str() == text)
            .ok_or_else(|| Invalid::value("purpose", "unknown link purpose"))
    }
}

/// The one active link of an address and purpose. A new link replaces the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// App and environment.
    pub world: World,
    /// The address that it proves.
    pub email_id: EmailId,
    /// The purpose.
    pub purpose: LinkPurpose,
    /// The user that it signs in.
    pub user_id: UserId,
    /// Hash of its token (ML-1).
    pub token: TokenHash,
    /// The kind of URL that it leads to; `None` if the App builds the URL itself.
    pub redirect: Option<RedirectKind>,
    /// The URL that it leads to, without the token; `None` if the App builds the URL itself.
    pub landing: Option<String>,
    /// The device of the step that created it, if given.
    pub fingerprint: Option<DeviceFingerprint>,
    /// Hash of the token of the browser that requested it, if there is one.
    pub origin: Option<TokenHash>,
    /// Whether the step that requested it created the user; a repeat of that step returns the same value (M-5).
    pub user_created: bool,
    /// The challenge whose verifier is required to use the link (RFC 7636). Only present if it was requested by a browser that can store a
    /// verifier.
    pub challenge: Option<CodeChallenge>,
    /// The address as written in the request, or the stored one if the request named a user.
    pub asked_as: Option<Email>,
    /// Whether it was sent to that spelling. Until the address is verified, it is; afterwards, links go to the verified spelling.
    pub sent_as_asked: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires; no longer valid from this second on.
    pub expires_at: Timestamp,
    /// When it was used.
    pub used_at: Option<Timestamp>,
    /// The session that its use started; the requesting browser can get one of its own.
    pub session_id: Option<SessionId>,
    /// When the requesting browser got its session.
    pub handed_at: Option<Timestamp>,
}

/// The status of a link, as seen by the browser that requested it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkProgress {
    /// It has not been used yet.
    Waiting,
    /// It was used recently enough.
    Used {
        /// When it was used.
        at: Timestamp,
    },
    /// It was not used in time, or its outcome was not fetched in time.
    Over,
    /// Its outcome was fetched, and the browser's token is spent.
    Handed,
}

impl Link {
    /// The spelling of the address that the link proves, if it differs from the verified one.
    pub fn sent_to(&self) -> Option<&Email> {
        self.asked_as.as_ref().filter(|_| self.sent_as_asked)
    }

    /// The status at a given time.
    pub fn progress(&self, now: Timestamp) -> LinkProgress {
        match (self.handed_at, self.used_at) {
            (Some(_), _) => LinkProgress::Handed,
            (None, Some(at)) if now < at + ORIGIN_WINDOW => LinkProgress::Used { at },
            (None, None) if now < self.expires_at => LinkProgress::Waiting,
            (None, _) => LinkProgress::Over,
        }
    }
}

/// The lockout subject of a link's failures. Separate from that of codes to the same address: guessing codes must not block its owner's
/// links (attack 24).
pub fn guard_subject(email: EmailId) -> String {
    format!("link:{email}")
}

/// The lockout subject of password-reset links. Separate from that of sign-in links, so that neither can block the other (attack 24).
pub fn reset_guard_subject(email: EmailId) -> String {
    format!("reset:{email}")
}

/// The lifetime of a link: the requested number of minutes or the default, limited by the App's maximum (ML-7).
///
/// # Errors
/// If it is outside [`EXPIRES_IN_MINUTES`]; names the field.
pub fn lifetime(
    param: &'static str,
    minutes: Option<i64>,
    app_maximum: i64,
) -> Result<Seconds, Invalid> {
    let (least, most) = EXPIRES_IN_MINUTES;
    let asked = match minutes {
        Some(minutes) => crate::limits::minutes(param, minutes, least, most)?,
        None => Seconds::from_minutes(DEFAULT_EXPIRES_IN_MINUTES),
    };
    Ok(asked.min(Seconds::from_minutes(app_maximum)))
}

/// A new token for a link: 48 of `[0-9A-Za-z]`.
pub fn token(source: &mut dyn ByteSource) -> Secret<String> {
    random::alphanumeric(source, TOKEN_LENGTH)
}

/// A new token for the browser that requests a link: 128 of `[0-9A-Za-z]`.
pub fn origin_token(source: &mut dyn ByteSource) -> Secret<String> {
    random::alphanumeric(source, ORIGIN_TOKEN_LENGTH)
}

#[cfg(test)]
mod tests;
