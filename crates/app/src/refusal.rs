//! Why use cases refuse: one set of causes, of which the error of every use case is made.
//!
//! A use case that has nothing to add answers a [`Refusal`] itself. One that has words of its own puts them into an enum beside
//! `Common(Refusal)` and calls `has_common!`; `?` then takes all that is common to it. The edge says once what each cause is
//! to a client, and once what each use case's own words are.

use std::borrow::Cow;

use vestry_domain::Invalid;
use vestry_domain::api_key::Scope;
use vestry_domain::code::MethodId;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::{MOST_EMAILS, MOST_PHONE_NUMBERS};

use crate::Fault;
use crate::fault::MayLoseRace;

/// Why a link has nowhere to lead. Both name the field of the request.
#[derive(Debug, thiserror::Error)]
pub enum RedirectError {
    /// The call names no URL, and the App has no default of this kind.
    #[error("{0} is missing, and the App has no default")]
    Missing(&'static str),
    /// The URL is not registered for this kind.
    #[error("{0} is not registered")]
    NotAllowed(&'static str),
}

/// Why nothing came of a call. Nothing has changed then, except where a use case says so.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The key was revoked while the call waited.
    #[error("the API key is not valid any more")]
    KeyEnded,
    /// The key may not do this.
    #[error("the API key lacks the scope {0}")]
    NotAllowed(Scope),
    /// A field was refused.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// There is nowhere to send a browser to.
    #[error(transparent)]
    Redirect(#[from] RedirectError),
    /// It is not in this world; in the words in which the API names such things.
    #[error("the {0} does not exist")]
    NotFound(&'static str),
    /// It is somebody's already; names the field, with its place where that is a list.
    #[error("{0} belongs to somebody already")]
    Taken(Cow<'static, str>),
    /// The user has as many of a kind as a user may have.
    #[error("a user can have at most {most} {kind}")]
    LimitReached {
        /// The field that brought one more, with its place where that is a list.
        param: Option<Cow<'static, str>>,
        /// In the words of the API.
        kind: &'static str,
        /// How many a user may have.
        most: usize,
    },
    /// Its user could not sign in any more.
    #[error("it is the last way to sign in")]
    LastSignInMethod,
    /// The session that was presented does not exist, has ended, or is not this user's in this world.
    #[error("the session is not valid")]
    InvalidSession,
    /// What was presented does not sign anybody in: wrong, expired, used and unknown are one and the same answer.
    #[error("what was presented is not valid")]
    InvalidCredentials,
    /// It needs a session with another factor, or with one proved more lately; or the user has to prove an identifier first.
    #[error("this needs another factor, or one proved more lately")]
    InsufficientFactor,
    /// An address or number that nobody has proved yet stands in the account of somebody: it is proved within a session of that
    /// user (CL-5).
    #[error("the address or number is not verified yet")]
    UnprovenIdentifier,
    /// Too many of a kind: of failures in a row, of messages to one address, of challenges that are alive.
    #[error("too many attempts")]
    TooMany {
        /// When the next one counts.
        retry_after: Seconds,
    },
    /// Not the caller's doing.
    #[error(transparent)]
    Fault(Fault),
}

impl Refusal {
    /// One email address too many.
    pub(crate) fn too_many_emails(param: Option<Cow<'static, str>>) -> Self {
        Self::LimitReached {
            param,
            kind: "email addresses",
            most: MOST_EMAILS,
        }
    }

    /// One phone number too many.
    pub(crate) fn too_many_phone_numbers(param: Option<Cow<'static, str>>) -> Self {
        Self::LimitReached {
            param,
            kind: "phone numbers",
            most: MOST_PHONE_NUMBERS,
        }
    }

    /// One identifier of this kind too many.
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

/// For the error of a use case that has the variant `Common(Refusal)`: lets `?` turn every common cause into it, and its
/// transactions be run again.
macro_rules! has_common {
    ($error:ty) => {
        impl<E: Into<$crate::Refusal>> From<E> for $error {
            fn from(cause: E) -> Self {
                Self::Common(cause.into())
            }
        }

        impl $crate::fault::MayLoseRace for $error {
            fn lost_race(&self) -> bool {
                matches!(self, Self::Common(refusal) if $crate::fault::MayLoseRace::lost_race(refusal))
            }
        }
    };
}
pub(crate) use has_common;
