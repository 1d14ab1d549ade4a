//! Reasons why a use case rejects a call: the set common to all use cases.
//!
//! A use case without reasons of its own returns [`Refusal`]. One with its own reasons defines an enum with a variant `Common(Refusal)` and
//! calls `has_common!`, so that `?` converts the common ones. The web layer maps each reason to a response in one place.

use std::borrow::Cow;

use vestry_domain::Invalid;
use vestry_domain::api_key::{Restriction, Scope};
use vestry_domain::code::MethodId;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::{MAX_EMAILS, MAX_PHONE_NUMBERS};

use crate::Fault;
use crate::kernel::fault::MayLoseRace;

/// Reason why no redirect URL could be chosen. Both variants name the request field.
#[derive(Debug, thiserror::Error)]
pub enum RedirectError {
    /// The call has no URL, and the App has no default of this kind.
    #[error("{0} is missing and the App has no default")]
    Missing(&'static str),
    /// The URL is not registered for this kind.
    #[error("{0} is not registered")]
    NotAllowed(&'static str),
}

/// Reason why a call was rejected. Nothing has changed, unless the use case says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The key was revoked while the call was waiting.
    #[error("the API key was revoked")]
    KeyEnded,
    /// The key lacks this scope, or (`None`) no API key can do this.
    #[error("the API key lacks the {}", .0.map_or_else(|| "right to do this".to_owned(), |scope| format!("scope {scope}")))]
    NotAllowed(Option<Scope>),
    /// The App is disabled.
    #[error("the App is disabled")]
    AppDisabled,
    /// A restriction of the key forbids the call.
    #[error("{0}")]
    Restricted(Restriction),
    /// The operator's role does not include this.
    #[error("the role does not include this")]
    RoleNotAllowed,
    /// The operator has to prove a second factor first.
    #[error("a second factor is required")]
    StepUpRequired,
    /// The last owner who can sign in cannot be removed, disabled or demoted.
    #[error("this is the last owner")]
    LastOwner,
    /// A field is invalid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// No redirect URL could be chosen.
    #[error(transparent)]
    Redirect(#[from] RedirectError),
    /// The object does not exist in this environment. Carries the API's name for it.
    #[error("the {0} does not exist")]
    NotFound(&'static str),
    /// The value is already in use by another user. Carries the field, with its index in a list.
    #[error("{0} is already in use")]
    Taken(Cow<'static, str>),
    /// An equal object exists already. Carries its kind.
    #[error("this {0} already exists")]
    Duplicate(&'static str),
    /// The object is not, or no longer, in the state that the call requires it to be in (RFC 9110, section 13.1.1).
    #[error("the object has changed")]
    PreconditionFailed,
    /// The current state does not permit the call. The message says what to do first.
    #[error("{0}")]
    NotNow(&'static str),
    /// The user, environment or deployment has the maximum of these objects.
    #[error("{of} can have at most {most} {kind}")]
    LimitReached {
        /// The field that would exceed it, with its index in a list.
        param: Option<Cow<'static, str>>,
        /// Their owner, with an article, such as `an environment`.
        of: &'static str,
        /// The kind, in the API's words.
        kind: &'static str,
        /// The maximum.
        most: usize,
    },
    /// It is the user's last way to sign in.
    #[error("this is the user's last way to sign in")]
    LastSignInMethod,
    /// The given session does not exist, has ended, or does not belong to this user in this environment.
    #[error("the session is invalid")]
    InvalidSession,
    /// The credentials are invalid. Wrong, expired, used and unknown credentials get the same response.
    #[error("invalid credentials")]
    InvalidCredentials,
    /// The call needs a session with another factor, or one verified more recently; or the user has to verify an identifier first.
    #[error("another factor, or a more recent one, is required")]
    InsufficientFactor,
    /// The address or number belongs to an existing account that has not verified it. It can only be verified within a session of that user
    /// (CL-5).
    #[error("the address or number is not verified yet")]
    UnprovenIdentifier,
    /// Too many consecutive failures, messages to one address, or open challenges.
    #[error("too many attempts")]
    TooMany {
        /// Time until the next attempt is accepted.
        retry_after: Seconds,
    },
    /// Not caused by the caller.
    #[error(transparent)]
    Fault(Fault),
}

impl Refusal {
    /// Returns the refusal for one email address too many.
    pub(crate) fn too_many_emails(param: Option<Cow<'static, str>>) -> Self {
        Self::LimitReached {
            param,
            of: "a user",
            kind: "email addresses",
            most: MAX_EMAILS,
        }
    }

    /// Returns the refusal for one phone number too many.
    pub(crate) fn too_many_phone_numbers(param: Option<Cow<'static, str>>) -> Self {
        Self::LimitReached {
            param,
            of: "a user",
            kind: "phone numbers",
            most: MAX_PHONE_NUMBERS,
        }
    }

    /// Returns the refusal for one object too many in an environment.
    pub(crate) const fn too_many_in_world(
        param: &'static str,
        kind: &'static str,
        most: usize,
    ) -> Self {
        Self::LimitReached {
            param: Some(Cow::Borrowed(param)),
            of: "an environment",
            kind,
            most,
        }
    }

    /// Returns the refusal for one identifier of this kind too many.
    pub(crate) fn too_many(method: MethodId) -> Self {
        match method {
            MethodId::Email(_) => Self::too_many_emails(None),
            MethodId::Phone(_) => Self::too_many_phone_numbers(None),
        }
    }
}

impl<E: Into<Fault>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

impl MayLoseRace for Refusal {
    fn lost_race(&self) -> bool {
        matches!(self, Self::Fault(fault) if fault.lost_race())
    }
}

/// Implements the conversions of a use case's error with a variant `Common(Refusal)`: from every common cause by `?`, and for retrying
/// transactions.
macro_rules! has_common {
    ($error:ty) => {
        impl<E: Into<$crate::Refusal>> From<E> for $error {
            fn from(cause: E) -> Self {
                Self::Common(cause.into())
            }
        }

        impl $crate::kernel::fault::MayLoseRace for $error {
            fn lost_race(&self) -> bool {
                matches!(self, Self::Common(refusal) if $crate::kernel::fault::MayLoseRace::lost_race(refusal))
            }
        }
    };
}
pub(crate) use has_common;
