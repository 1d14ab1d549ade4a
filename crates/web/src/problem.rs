//! The one table of errors, and the body that every refusal has.

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

/// Machine-readable reason of an error. New codes may appear with new features; their status tells how to treat them.
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
    /// The table: status, and the message where a refusal has none of its own.
    const fn row(self) -> (StatusCode, &'static str) {
        match self {
            Self::InvalidRequest => (
                StatusCode::BAD_REQUEST,
                "the request could not be read; send one JSON object",
            ),
            Self::MissingField => (StatusCode::BAD_REQUEST, "a required field is missing"),
            Self::InvalidField => (
                StatusCode::BAD_REQUEST,
                "a field has a value that is not accepted",
            ),
            Self::UnknownField => (
                StatusCode::BAD_REQUEST,
                "a value names something that is not known",
            ),
            Self::InvalidOtp => (
                StatusCode::BAD_REQUEST,
                "the code is wrong, expired or already used; send a new one",
            ),
            Self::InvalidMagicToken => (
                StatusCode::BAD_REQUEST,
                "the link is unknown, expired or already used; send a new one",
            ),
            Self::MagicLinkExpired => (
                StatusCode::BAD_REQUEST,
                "the link has expired; send a new one",
            ),
            Self::MagicLinkNotVerified => (
                StatusCode::BAD_REQUEST,
                "the link has not been opened yet; ask again in a few seconds",
            ),
            Self::InvalidRequestOriginToken => (
                StatusCode::BAD_REQUEST,
                "request_origin_token does not belong to this sign-in or was used already; begin again",
            ),
            Self::InvalidOauthToken => (
                StatusCode::BAD_REQUEST,
                "the token or code is unknown, expired or already used; begin the sign-in again",
            ),
            Self::InvalidState => (
                StatusCode::BAD_REQUEST,
                "the state is unknown, expired, used or of another sign-in; begin again",
            ),
            Self::ProviderNotConfigured => (
                StatusCode::BAD_REQUEST,
                "this identity provider is not set up for the App in this environment; see `vestry provider set`",
            ),
            Self::RedirectUrlMissing => (
                StatusCode::BAD_REQUEST,
                "name a redirect URL, or register a default for the App",
            ),
            Self::RedirectUrlNotAllowed => (
                StatusCode::BAD_REQUEST,
                "the redirect URL is not registered for the App; see `vestry redirect-url add`",
            ),
            Self::MessageIsTransaction => (
                StatusCode::BAD_REQUEST,
                "the message is a transaction of this wallet; sign it with sign_transaction",
            ),
            Self::UnsupportedMethod => (
                StatusCode::BAD_REQUEST,
                "the wallet's chain has no such method",
            ),
            Self::DecryptionFailed => (
                StatusCode::BAD_REQUEST,
                "the key could not be decrypted; begin the import again and seal the key to the public key in the answer",
            ),
            Self::AddressMismatch => (
                StatusCode::BAD_REQUEST,
                "the key that was sent is not the key of this address",
            ),
            Self::HttpsRequired => (StatusCode::BAD_REQUEST, "use https: plain HTTP is refused"),
            Self::MissingApiKey => (
                StatusCode::UNAUTHORIZED,
                "send the App's secret key as `Authorization: Bearer sk_…`",
            ),
            Self::InvalidApiKey => (StatusCode::UNAUTHORIZED, "the API key is not valid"),
            Self::InvalidSession => (StatusCode::UNAUTHORIZED, "the session is not valid"),
            Self::InvalidCredentials => (StatusCode::UNAUTHORIZED, "the credentials are not valid"),
            Self::KeyNotAllowed => (
                StatusCode::FORBIDDEN,
                "the API key lacks a scope that this call needs; use a key that has it",
            ),
            Self::InsufficientFactor => (
                StatusCode::FORBIDDEN,
                "this needs a session with a further factor, or one proved more recently; verify one with session_token",
            ),
            Self::WalletReadOnly => (
                StatusCode::FORBIDDEN,
                "the wallet is read-only: its key is held elsewhere, and it cannot sign here",
            ),
            Self::WalletDisabled => (
                StatusCode::FORBIDDEN,
                "the wallet is disabled; enable it first",
            ),
            Self::PolicyDenied => (
                StatusCode::FORBIDDEN,
                "the rules of this service do not allow this",
            ),
            Self::FeatureDisabled => (
                StatusCode::FORBIDDEN,
                "the App's settings do not allow this; see `vestry app set`",
            ),
            Self::NotFound => (StatusCode::NOT_FOUND, "it does not exist"),
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "this path does not have that method; see the Allow header",
            ),
            Self::Duplicate => (StatusCode::CONFLICT, "the value belongs to a user already"),
            Self::IdempotencyKeyReused => (
                StatusCode::CONFLICT,
                "this Idempotency-Key was used for another request; send a new one",
            ),
            Self::CursorUnknown => (
                StatusCode::CONFLICT,
                "the log does not know this event: it is too old, of another world, or was lost; compare your copy by the list calls \
                 and go on from GET /v1/events/head",
            ),
            Self::LastSignInMethod => (
                StatusCode::CONFLICT,
                "this is the user's last way to sign in; add another one first",
            ),
            Self::LimitReached => (
                StatusCode::CONFLICT,
                "the user has as many of these as a user can have; delete one first",
            ),
            Self::BodyTooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body is larger than 256 KiB; send less",
            ),
            Self::UnsupportedMediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "send the body as `Content-Type: application/json`, without a content encoding",
            ),
            Self::RateLimited => (
                StatusCode::TOO_MANY_REQUESTS,
                "too many requests; wait and back off exponentially",
            ),
            Self::TooManyAttempts => (
                StatusCode::TOO_MANY_REQUESTS,
                "too many attempts; wait before the next one",
            ),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal error; try again, and report request_id if it stays",
            ),
            Self::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "not available at the moment; try again",
            ),
            Self::Sealed => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the keys are not available at the moment; try again",
            ),
        }
    }

    pub(crate) const fn status(self) -> StatusCode {
        self.row().0
    }

    pub(crate) const fn message(self) -> &'static str {
        self.row().1
    }

    /// As on the wire.
    pub(crate) fn on_the_wire(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => name,
            _ => String::new(),
        }
    }
}

/// A refusal on its way out. The body is written at the edge, where the request id is known.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    message: Cow<'static, str>,
    param: Option<Cow<'static, str>>,
    /// Seconds for `Retry-After`.
    pub(crate) retry_after: Option<u64>,
    /// Methods for `Allow`.
    pub(crate) allow: Option<String>,
    /// Whether the connection cannot be used any more.
    pub(crate) closes: bool,
    /// For the log, never for the answer.
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

    /// The request as a whole makes no sense.
    pub(crate) fn request(message: &'static str) -> Self {
        Self {
            message: message.into(),
            ..Self::new(Code::InvalidRequest)
        }
    }

    /// Something that a request names is not there; foreign and absent are the same.
    pub(crate) fn not_found(resource: &'static str) -> Self {
        Self {
            message: format!("{resource} does not exist").into(),
            param: Some(resource.into()),
            ..Self::new(Code::NotFound)
        }
    }

    /// No endpoint has this path. Also the answer of an endpoint that this key must not know of (S-17).
    pub(crate) fn no_route() -> Self {
        Self {
            message: "there is no endpoint with this path".into(),
            param: Some("route".into()),
            ..Self::new(Code::NotFound)
        }
    }

    /// There is nowhere to redirect to, because of this field.
    pub(crate) fn redirect(code: Code, param: &'static str) -> Self {
        Self {
            param: Some(param.into()),
            ..Self::new(code)
        }
    }

    pub(crate) fn duplicate(param: impl Into<Cow<'static, str>>) -> Self {
        let param = param.into();
        Self {
            message: format!("{param} belongs to a user already").into(),
            param: Some(param),
            ..Self::new(Code::Duplicate)
        }
    }

    /// The connection to an identity provider is set, and does not work; says where to look.
    pub(crate) fn provider_of_no_use(
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self {
            message: "the identity provider does not accept the connection as it is set; see the service's log".into(),
            ..Self::new(Code::ProviderNotConfigured)
        }
        .because(cause)
    }

    /// The same request, with the same idempotency key, has not come to its end.
    pub(crate) fn still_running() -> Self {
        Self {
            message:
                "a request with this Idempotency-Key is still running; send it again in a second"
                    .into(),
            retry_after: Some(1),
            ..Self::new(Code::IdempotencyKeyReused)
        }
    }

    /// What is asked for is never done with this one; says why.
    pub(crate) fn policy_denied(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            message: message.into(),
            ..Self::new(Code::PolicyDenied)
        }
    }

    /// The path has these methods and no other.
    pub(crate) fn method_not_allowed(allow: String) -> Self {
        Self {
            allow: Some(allow),
            ..Self::new(Code::MethodNotAllowed)
        }
    }

    /// A failure of ours; what it was goes to the log.
    pub(crate) fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(Code::Internal).because(cause)
    }

    /// A part that we depend on is away.
    pub(crate) fn unavailable(part: &'static str) -> Self {
        Self {
            message: format!("{part} is not available").into(),
            param: Some(part.into()),
            retry_after: Some(1),
            ..Self::new(Code::Unavailable)
        }
    }

    /// A search that the database did not end in time. It will not another time, so the remedy is another search.
    pub(crate) fn too_long(limit: Duration) -> Self {
        let seconds = limit.as_secs_f64();
        let message = format!(
            "the search was given up after {seconds} s; narrow it: search by a whole value (email, phone_number, \
             wallet_public_address, metadata) in place of a part of one, or join a shorter created_at by AND"
        );
        Self {
            message: message.into(),
            param: Some("filters".into()),
            retry_after: Some(1),
            ..Self::new(Code::Unavailable)
        }
    }

    /// Its code, if it is one of those that the audit log tells of: the caller, or its user, may not do this.
    pub(crate) const fn recorded(&self) -> Option<&'static str> {
        match self.code {
            Code::KeyNotAllowed => Some("key_not_allowed"),
            Code::InsufficientFactor => Some("insufficient_factor"),
            Code::PolicyDenied => Some("policy_denied"),
            Code::FeatureDisabled => Some("feature_disabled"),
            _ => None,
        }
    }

    /// When to try again.
    pub(crate) fn after(self, wait: Seconds) -> Self {
        Self {
            retry_after: Some(wait.at_least_one()),
            ..self
        }
    }

    /// Why, for the log.
    pub(crate) fn because(
        self,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self {
            cause: Some(cause.into()),
            ..self
        }
    }

    /// The connection cannot be used for another request.
    pub(crate) fn closing(self) -> Self {
        Self {
            closes: true,
            ..self
        }
    }

    /// What stands in the answer.
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

    /// Without a body: the edge writes it.
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
                ..Self::request("a field appears twice in one object")
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
    /// The HTTP status once more.
    #[schema(minimum = 400, maximum = 599)]
    status_code: u16,
    /// Repeats `error.code`.
    error_type: Code,
    /// Repeats `error.message`.
    #[schema(min_length = 1)]
    error_message: &'a str,
    /// The id of this request, as in the `X-Request-Id` header; name it when you ask for help.
    #[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9_-]+$")]
    request_id: &'a str,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorDetail<'a> {
    code: Code,
    /// One sentence for a person. It may change; branch on `code`.
    #[schema(min_length = 1)]
    message: &'a str,
    /// Path of the field that was refused (`metadata.address`), or the resource that was not found (`wallet`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    param: Option<&'a str>,
}

#[cfg(test)]
mod tests;
