//! Errors that are stored as the response to a request with an `Idempotency-Key`.

use std::borrow::Cow;

use actix_web::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{Code, Problem};

/// The stored part of an error: everything except the request id.
#[derive(Serialize, Deserialize)]
struct Replay<'a> {
    code: Code,
    message: Cow<'a, str>,
    param: Option<Cow<'a, str>>,
}

impl Code {
    /// Whether the error is the use case's decision, so that a repeated request gets the same response.
    ///
    /// Errors due to the caller, the form of the request or the current state of the server are not decisions.
    const fn is_decided(self) -> bool {
        match self {
            Self::InvalidRequest
            | Self::MissingField
            | Self::InvalidField
            | Self::UnknownField
            | Self::InvalidOtp
            | Self::InvalidMagicToken
            | Self::MagicLinkExpired
            | Self::InvalidRequestOriginToken
            | Self::InvalidOauthToken
            | Self::InvalidState
            | Self::RedirectUrlMissing
            | Self::RedirectUrlNotAllowed
            | Self::MessageIsTransaction
            | Self::UnsupportedMethod
            | Self::InsufficientFactor
            | Self::DecryptionFailed
            | Self::AddressMismatch
            | Self::FeatureDisabled
            | Self::WalletReadOnly
            | Self::WalletDisabled
            | Self::PolicyDenied
            | Self::NotFound
            | Self::Duplicate
            | Self::LastSignInMethod
            | Self::LastOwner
            | Self::LimitReached => true,
            Self::MagicLinkNotVerified
            | Self::ProviderNotConfigured
            | Self::HttpsRequired
            | Self::MissingApiKey
            | Self::InvalidApiKey
            | Self::InvalidSession
            | Self::InvalidCredentials
            | Self::KeyNotAllowed
            | Self::RoleNotAllowed
            | Self::StepUpRequired
            | Self::MethodNotAllowed
            | Self::PreconditionFailed
            | Self::PreconditionRequired
            | Self::IdempotencyKeyReused
            | Self::CursorUnknown
            | Self::BodyTooLarge
            | Self::UnsupportedMediaType
            | Self::RateLimited
            | Self::TooManyAttempts
            | Self::Internal
            | Self::Unavailable
            | Self::Sealed => false,
        }
    }
}

impl Problem {
    /// The stored form of the error; `None` if it is not stored.
    pub(crate) fn to_replay(&self) -> Option<Vec<u8>> {
        let is_stored = self.code.is_decided() && self.retry_after.is_none() && !self.closes;
        let stored = Replay {
            code: self.code,
            message: Cow::Borrowed(&self.message),
            param: self.param.as_deref().map(Cow::Borrowed),
        };
        serde_json::to_vec(&stored).ok().filter(|_| is_stored)
    }

    /// Restores a stored error; `None` if the bytes are malformed.
    pub(crate) fn from_replay(bytes: &[u8]) -> Option<Self> {
        let stored: Replay<'_> = serde_json::from_slice(bytes).ok()?;
        Some(Self {
            message: Cow::Owned(stored.message.into_owned()),
            param: stored.param.map(|param| Cow::Owned(param.into_owned())),
            ..Self::new(stored.code)
        })
    }

    /// Whether this is a server failure, after which the request may not have taken effect.
    pub(crate) fn is_failure(&self) -> bool {
        self.code.status() >= StatusCode::INTERNAL_SERVER_ERROR
    }
}
