//! Magic links: what they are good for, what is kept of them, and when they die.

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
/// Characters of the token that the browser which asked for a link keeps: 762 bits.
pub const ORIGIN_TOKEN_LENGTH: usize = 128;
/// Shortest and longest life of a link, in minutes (ML-7).
pub const EXPIRES_IN_MINUTES: (i64, i64) = (5, 10_080);
/// Life of a link when none was asked for, in minutes.
pub const DEFAULT_EXPIRES_IN_MINUTES: i64 = 60;
/// How long after its use a link's outcome can be fetched by the browser that asked for it.
pub const ORIGIN_WINDOW: Seconds = Seconds(600);
/// Longest life of the code that stands in the mail beside a link (OTP-2).
pub const FALLBACK_CODE_LIFETIME: Seconds = Seconds(600);

/// What a link is good for; one of a purpose never serves another (ML-6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkPurpose {
    /// Mailed to somebody who wants to sign in.
    Login,
    /// Mailed to somebody who was invited.
    Invite,
    /// Handed to the App, which brings it to the user itself.
    Create,
    /// Mailed to somebody who wants a new password. Never accepted where links sign in.
    PasswordReset,
}

impl LinkPurpose {
    /// All purposes.
    pub const ALL: [Self; 4] = [Self::Login, Self::Invite, Self::Create, Self::PasswordReset];
    /// Those that `magic_links/verify` accepts.
    pub const SIGNING_IN: [Self; 3] = [Self::Login, Self::Invite, Self::Create];

    /// As stored.
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
            .ok_or_else(|| Invalid::value("purpose", "unknown purpose of a link"))
    }
}

/// The one link of an address and purpose. A new one takes the place of the old.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// App and environment.
    pub world: World,
    /// The address that it proves.
    pub email_id: EmailId,
    /// What it is good for.
    pub purpose: LinkPurpose,
    /// Who it signs in.
    pub user_id: UserId,
    /// Hash of the token in it (ML-1).
    pub token: TokenHash,
    /// Of which kind the URL is that it leads to; `None` when the App builds the URL itself.
    pub redirect: Option<RedirectKind>,
    /// The URL that it leads to, all but the token; `None` when the App builds the URL itself.
    pub landing: Option<String>,
    /// The device of the step that made it, when it was sent.
    pub fingerprint: Option<DeviceFingerprint>,
    /// Hash of the token of the browser that asked for it, where it has one.
    pub origin: Option<TokenHash>,
    /// Whether the step that asked for it made the user, which a repeat of that step answers again (M-5).
    pub user_created: bool,
    /// Whose it is: who has the verifier (RFC 7636). Only where a browser asked for it that can keep one.
    pub challenge: Option<CodeChallenge>,
    /// The address as written in the request, or the stored one where that named a user.
    pub asked_as: Option<Email>,
    /// Whether it went to that spelling, as it does until the address is verified; then it goes to the verified one.
    pub sent_as_asked: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// From this second on it is dead.
    pub expires_at: Timestamp,
    /// When it was used up.
    pub used_at: Option<Timestamp>,
    /// The session that its use started and of which the origin may have one of its own.
    pub session_id: Option<SessionId>,
    /// When the origin got that.
    pub handed_at: Option<Timestamp>,
}

/// Where a link stands, seen from the browser that asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkProgress {
    /// Nobody has used it yet.
    Waiting,
    /// It was used, lately enough.
    Used {
        /// When.
        at: Timestamp,
    },
    /// Nobody used it in time, or the outcome was not fetched in time.
    Over,
    /// Its outcome was fetched; the origin's token is spent.
    Handed,
}

impl Link {
    /// The spelling of the address that it proves, where that is not the verified one.
    pub fn sent_to(&self) -> Option<&Email> {
        self.asked_as.as_ref().filter(|_| self.sent_as_asked)
    }

    /// Where it stands at a moment.
    pub fn progress(&self, now: Timestamp) -> LinkProgress {
        match (self.handed_at, self.used_at) {
            (Some(_), _) => LinkProgress::Handed,
            (None, Some(at)) if now < at + ORIGIN_WINDOW => LinkProgress::Used { at },
            (None, None) if now < self.expires_at => LinkProgress::Waiting,
            (None, _) => LinkProgress::Over,
        }
    }
}

/// What failures of a link are counted under. Apart from the codes of the same address: whoever guesses codes must not be
/// able to hold up its owner's links (attack 24).
pub fn guard_subject(email: EmailId) -> String {
    format!("link:{email}")
}

/// What tries with a link to set a password are counted under: apart from those with links to sign in, so that the one never
/// holds up the other (attack 24).
pub fn reset_guard_subject(email: EmailId) -> String {
    format!("reset:{email}")
}

/// The life of a link: what was asked for in minutes, or the default; never longer than the App's own limit (ML-7).
///
/// # Errors
/// Outside of [`EXPIRES_IN_MINUTES`]; names the field.
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

/// A new token for the browser that asks for a link: 128 of `[0-9A-Za-z]`.
pub fn origin_token(source: &mut dyn ByteSource) -> Secret<String> {
    random::alphanumeric(source, ORIGIN_TOKEN_LENGTH)
}

#[cfg(test)]
mod tests;
