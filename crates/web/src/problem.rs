//! The table of error codes, and the body of every error response.

mod from_app;
mod page;
mod replay;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_domain::Invalid;
use vestry_domain::invalid::Reason;
use vestry_domain::timestamp::Seconds;

use crate::json::Refused;

pub(crate) use page::{PageWanted, page_headers};

/// Machine-readable error code. New codes may be added; treat an unknown one by its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ErrorCode)]
pub(crate) enum Code {
    InvalidRequest,
    MissingField,
    InvalidField,
    UnknownField,
    InvalidOtp,
    InvalidMagicToken,
    MagicLinkExpired,
    MagicLinkNotVerified,
    InvalidRequestOriginToken,
    InvalidOauthToken,
    InvalidState,
    ProviderNotConfigured,
    RedirectUrlMissing,
    RedirectUrlNotAllowed,
    MessageIsTransaction,
    UnsupportedMethod,
    DecryptionFailed,
    AddressMismatch,
    HttpsRequired,
    MissingApiKey,
    InvalidApiKey,
    InvalidSession,
    InvalidCredentials,
    KeyNotAllowed,
    InsufficientFactor,
    WalletReadOnly,
    WalletDisabled,
    PolicyDenied,
    FeatureDisabled,
    NotFound,
    MethodNotAllowed,
    Duplicate,
    IdempotencyKeyReused,
    CursorUnknown,
    LastSignInMethod,
    LimitReached,
    BodyTooLarge,
    UnsupportedMediaType,
    RateLimited,
    TooManyAttempts,
    Internal,
    Unavailable,
    Sealed,
}

impl Code {
    /// The table: the status, the message of errors that have none of their own, and the meaning for the API reference.
    const fn row(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::InvalidRequest => (
                StatusCode::BAD_REQUEST,
                "the body must be a JSON object",
                "The request is malformed.",
            ),
            Self::MissingField => (
                StatusCode::BAD_REQUEST,
                "a required field is missing",
                "A required field is missing.",
            ),
            Self::InvalidField => (
                StatusCode::BAD_REQUEST,
                "a field has an invalid value",
                "A field has an invalid value.",
            ),
            Self::UnknownField => (
                StatusCode::BAD_REQUEST,
                "unknown value; see `param` for the field",
                "A name in the request is unknown, such as a filter field, a scope or an event type.",
            ),
            Self::InvalidOtp => (
                StatusCode::BAD_REQUEST,
                "the code is wrong, expired or already used; send a new one",
                "The code is wrong, expired or already used.",
            ),
            Self::InvalidMagicToken => (
                StatusCode::BAD_REQUEST,
                "the link is unknown, expired or already used; send a new one",
                "The link's token is unknown, expired or already used.",
            ),
            Self::MagicLinkExpired => (
                StatusCode::BAD_REQUEST,
                "the link has expired; send a new one",
                "The link expired before it was used.",
            ),
            Self::MagicLinkNotVerified => (
                StatusCode::BAD_REQUEST,
                "the link has not been used yet; try again in a few seconds",
                "The link has not been used yet. Keep polling.",
            ),
            Self::InvalidRequestOriginToken => (
                StatusCode::BAD_REQUEST,
                "request_origin_token does not match this sign-in or has already been used; start again",
                "`request_origin_token` does not match the sign-in or has already been used.",
            ),
            Self::InvalidOauthToken => (
                StatusCode::BAD_REQUEST,
                "the token or code is unknown, expired or already used; start the sign-in again",
                "The token or code is unknown, expired or already used.",
            ),
            Self::InvalidState => (
                StatusCode::BAD_REQUEST,
                "the state is unknown, expired, already used or from another sign-in; start again",
                "The state is unknown, expired, already used or from another sign-in.",
            ),
            Self::ProviderNotConfigured => (
                StatusCode::BAD_REQUEST,
                "this identity provider is not configured for the App in this environment; see `vestry provider set`",
                "The identity provider is not configured for the App in this environment, or rejects its configuration.",
            ),
            Self::RedirectUrlMissing => (
                StatusCode::BAD_REQUEST,
                "no redirect URL: send one, or register a default for the App",
                "The request has no redirect URL and the App has no default.",
            ),
            Self::RedirectUrlNotAllowed => (
                StatusCode::BAD_REQUEST,
                "the redirect URL is not registered for the App; see `vestry redirect-url add`",
                "The redirect URL is not registered for the App.",
            ),
            Self::MessageIsTransaction => (
                StatusCode::BAD_REQUEST,
                "the message is a transaction of this wallet; use sign_transaction instead",
                "The message to sign is a transaction of the wallet's chain.",
            ),
            Self::UnsupportedMethod => (
                StatusCode::BAD_REQUEST,
                "the wallet's chain does not support this method",
                "The wallet's chain does not support the method.",
            ),
            Self::DecryptionFailed => (
                StatusCode::BAD_REQUEST,
                "the key could not be decrypted; start the import again and encrypt the key to the public key in the response",
                "The imported key could not be decrypted.",
            ),
            Self::AddressMismatch => (
                StatusCode::BAD_REQUEST,
                "the key does not belong to this address",
                "The imported key does not belong to the address.",
            ),
            Self::HttpsRequired => (
                StatusCode::BAD_REQUEST,
                "plain HTTP is not accepted; use https",
                "The request was sent over plain HTTP.",
            ),
            Self::MissingApiKey => (
                StatusCode::UNAUTHORIZED,
                "send the App's secret key as `Authorization: Bearer sk_…`",
                "The request has no API key.",
            ),
            Self::InvalidApiKey => (
                StatusCode::UNAUTHORIZED,
                "the API key is not valid",
                "The API key is malformed, unknown or revoked.",
            ),
            Self::InvalidSession => (
                StatusCode::UNAUTHORIZED,
                "the session is not valid",
                "The session is unknown, ended or expired.",
            ),
            Self::InvalidCredentials => (
                StatusCode::UNAUTHORIZED,
                "the credentials are not valid",
                "The credentials are wrong.",
            ),
            Self::KeyNotAllowed => (
                StatusCode::FORBIDDEN,
                "the API key lacks a scope that this call requires; use a key that has it",
                "The API key lacks a scope that the call requires.",
            ),
            Self::InsufficientFactor => (
                StatusCode::FORBIDDEN,
                "this call requires another factor or a more recent one; verify one with session_token",
                "The session lacks a required or recent factor, or the user must verify an identifier first.",
            ),
            Self::WalletReadOnly => (
                StatusCode::FORBIDDEN,
                "the wallet is read-only and cannot sign, because its key is held elsewhere",
                "The wallet is read-only, because its key is held elsewhere.",
            ),
            Self::WalletDisabled => (
                StatusCode::FORBIDDEN,
                "the wallet is disabled; enable it first",
                "The wallet is disabled.",
            ),
            Self::PolicyDenied => (
                StatusCode::FORBIDDEN,
                "this is not allowed by the server's policy",
                "The server's policy does not allow the operation.",
            ),
            Self::FeatureDisabled => (
                StatusCode::FORBIDDEN,
                "this is disabled in the App's settings; see `vestry app set`",
                "The App's settings do not allow the operation.",
            ),
            Self::NotFound => (
                StatusCode::NOT_FOUND,
                "not found",
                "The object or endpoint does not exist in this App and environment.",
            ),
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "method not allowed for this path; see the Allow header",
                "The path does not support the HTTP method. The `Allow` header lists those that it does.",
            ),
            Self::Duplicate => (
                StatusCode::CONFLICT,
                "the value is already in use by another user",
                "The value is already in use, usually by another user.",
            ),
            Self::IdempotencyKeyReused => (
                StatusCode::CONFLICT,
                "this Idempotency-Key was already used for another request; send a new one",
                "The `Idempotency-Key` was used for another request, or the same request is still running (with `Retry-After`).",
            ),
            Self::CursorUnknown => (
                StatusCode::CONFLICT,
                "unknown cursor: the event has expired, belongs to another environment, or was lost in a restore. Resync with the list \
                 endpoints, then continue from GET /v1/events/head",
                "The event in `after` has expired, belongs to another environment, or was lost in a restore.",
            ),
            Self::LastSignInMethod => (
                StatusCode::CONFLICT,
                "this is the user's last sign-in method; add another one first",
                "The user's last sign-in method cannot be removed.",
            ),
            Self::LimitReached => (
                StatusCode::CONFLICT,
                "the user has the maximum number of these; delete one first",
                "The user already has the maximum number of these objects.",
            ),
            Self::BodyTooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body exceeds 256 KiB",
                "The body exceeds 256 KiB.",
            ),
            Self::UnsupportedMediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "send the body as `Content-Type: application/json`, without a content encoding",
                "The body is not `application/json`, or has a content encoding.",
            ),
            Self::RateLimited => (
                StatusCode::TOO_MANY_REQUESTS,
                "too many requests; retry with exponential backoff",
                "The rate limit is exhausted.",
            ),
            Self::TooManyAttempts => (
                StatusCode::TOO_MANY_REQUESTS,
                "too many attempts; wait before the next one",
                "Too many attempts, for example with wrong codes or passwords.",
            ),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal error; try again, and report request_id if it persists",
                "The server failed. Details are in its log, under the `request_id`.",
            ),
            Self::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "temporarily unavailable; try again",
                "The server or one of its dependencies is overloaded or unavailable.",
            ),
            Self::Sealed => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the keys are temporarily unavailable; try again",
                "The encryption keys are temporarily unavailable.",
            ),
        }
    }

    pub(crate) const fn status(self) -> StatusCode {
        self.row().0
    }

    pub(crate) const fn message(self) -> &'static str {
        self.row().1
    }

    /// What the code means, for the API reference and docs/errors-and-limits.md.
    pub(crate) const fn meaning(self) -> &'static str {
        self.row().2
    }

    /// The code as spelled on the wire.
    pub(crate) fn on_the_wire(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => name,
            _ => String::new(),
        }
    }
}

/// An error response. Its body is written at the edge, where the request id is known.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    message: Cow<'static, str>,
    param: Option<Cow<'static, str>>,
    /// Value of `Retry-After`, in seconds.
    pub(crate) retry_after: Option<u64>,
    /// Value of `Allow`: the supported methods.
    pub(crate) allow: Option<String>,
    /// Whether the connection must be closed.
    pub(crate) closes: bool,
    /// The cause, for the log only; never part of the response.
    pub(crate) cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Problem {
    pub(crate) const fn new(code: Code) -> Self {
        Self {
            code,
            message: Cow::Borrowed(code.message()),
            param: None,
            retry_after: None,
            allow: None,
            closes: false,
            cause: None,
        }
    }

    /// The request as a whole is malformed.
    pub(crate) fn request(message: &'static str) -> Self {
        Self {
            message: message.into(),
            ..Self::new(Code::InvalidRequest)
        }
    }

    /// An object named in the request does not exist. An object of another App gets the same error.
    pub(crate) fn not_found(resource: &'static str) -> Self {
        Self {
            message: format!("{resource} does not exist").into(),
            param: Some(resource.into()),
            ..Self::new(Code::NotFound)
        }
    }

    /// No endpoint has this path. Also returned by endpoints that are hidden from the key (S-17).
    pub(crate) fn no_route() -> Self {
        Self {
            message: "no such endpoint".into(),
            param: Some("route".into()),
            ..Self::new(Code::NotFound)
        }
    }

    /// A redirect URL is missing or not allowed.
    pub(crate) fn redirect(code: Code, param: &'static str) -> Self {
        Self {
            param: Some(param.into()),
            ..Self::new(code)
        }
    }

    pub(crate) fn duplicate(param: impl Into<Cow<'static, str>>) -> Self {
        let param = param.into();
        Self {
            message: format!("{param} is already in use by another user").into(),
            param: Some(param),
            ..Self::new(Code::Duplicate)
        }
    }

    /// The identity provider rejects the configuration of its connection.
    pub(crate) fn provider_misconfigured(
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self {
            message: "the identity provider rejected this App's configuration; see the server log"
                .into(),
            ..Self::new(Code::ProviderNotConfigured)
        }
        .because(cause)
    }

    /// The same request with the same idempotency key is still running.
    pub(crate) fn still_running() -> Self {
        Self {
            message: "a request with this Idempotency-Key is still running; retry in a second"
                .into(),
            retry_after: Some(1),
            ..Self::new(Code::IdempotencyKeyReused)
        }
    }

    /// The operation is never allowed on this object; the message says why.
    pub(crate) fn policy_denied(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            message: message.into(),
            ..Self::new(Code::PolicyDenied)
        }
    }

    /// The path supports these methods only.
    pub(crate) fn method_not_allowed(allow: String) -> Self {
        Self {
            allow: Some(allow),
            ..Self::new(Code::MethodNotAllowed)
        }
    }

    /// An internal failure; its cause is logged.
    pub(crate) fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(Code::Internal).because(cause)
    }

    /// A dependency is unavailable.
    pub(crate) fn unavailable(part: &'static str) -> Self {
        Self {
            message: format!("{part} is not available").into(),
            param: Some(part.into()),
            retry_after: Some(1),
            ..Self::new(Code::Unavailable)
        }
    }

    /// A search that timed out in the database. A retry would time out too, so the message asks for a narrower search.
    pub(crate) fn too_long(limit: Duration) -> Self {
        let seconds = limit.as_secs_f64();
        let message = format!(
            "the search timed out after {seconds} s. Filter on an exact value (email, phone_number, wallet_public_address, \
             metadata) instead of a `*_match` field, or add a narrower created_at range"
        );
        Self {
            message: message.into(),
            param: Some("filters".into()),
            retry_after: Some(1),
            ..Self::new(Code::Unavailable)
        }
    }

    /// The error code, if it denies a permission of the caller or its user and is therefore recorded in the audit log.
    pub(crate) const fn recorded(&self) -> Option<&'static str> {
        match self.code {
            Code::KeyNotAllowed => Some("key_not_allowed"),
            Code::InsufficientFactor => Some("insufficient_factor"),
            Code::PolicyDenied => Some("policy_denied"),
            Code::FeatureDisabled => Some("feature_disabled"),
            _ => None,
        }
    }

    /// Sets `Retry-After`.
    pub(crate) fn after(self, wait: Seconds) -> Self {
        Self {
            retry_after: Some(wait.at_least_one()),
            ..self
        }
    }

    /// Sets the cause, for the log.
    pub(crate) fn because(
        self,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self {
            cause: Some(cause.into()),
            ..self
        }
    }

    /// Closes the connection after the response.
    pub(crate) fn closing(self) -> Self {
        Self {
            closes: true,
            ..self
        }
    }

    /// The body of the response.
    pub(crate) fn body<'a>(&'a self, request_id: &'a str) -> ErrorBody<'a> {
        ErrorBody {
            error: ErrorDetail {
                code: self.code,
                message: &self.message,
                param: self.param.as_deref(),
            },
            status_code: self.code.status().as_u16(),
            error_type: self.code,
            error_message: &self.message,
            request_id,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.code.status()
    }

    /// An empty response; the edge writes the body.
    fn error_response(&self) -> HttpResponse {
        HttpResponse::new(self.status_code())
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        let code = match invalid.reason {
            Reason::Missing => Code::MissingField,
            Reason::Value => Code::InvalidField,
            Reason::Unknown => Code::UnknownField,
        };
        Self {
            message: invalid.message,
            param: Some(invalid.param),
            ..Self::new(code)
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Syntax(message) => Self::request(message),
            Refused::Repeated { param } => Self {
                param: Some(param.into()),
                ..Self::request("duplicate field")
            },
            Refused::Field(invalid) => invalid.into(),
        }
    }
}

/// The body of every error, from every layer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Error)]
pub(crate) struct ErrorBody<'a> {
    error: ErrorDetail<'a>,
    /// HTTP status code; repeats the status line.
    #[schema(minimum = 400, maximum = 599)]
    status_code: u16,
    /// Repeats `error.code`.
    error_type: Code,
    /// Repeats `error.message`.
    #[schema(min_length = 1)]
    error_message: &'a str,
    /// Id of the request, as in the `X-Request-Id` header, 1 to 128 characters. Include it in support requests.
    #[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9_-]+$")]
    request_id: &'a str,
}

/// Details of an error.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorDetail<'a> {
    code: Code,
    /// Message for people. It may change; branch on `code`.
    #[schema(min_length = 1)]
    message: &'a str,
    /// Path of the rejected field (`metadata.address`), or kind of the object that was not found (`wallet`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    param: Option<&'a str>,
}

#[cfg(test)]
mod tests;
