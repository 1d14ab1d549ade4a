//! The table of error codes.

use actix_web::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Machine-readable error code. New codes may be added; treat an unknown one by its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ErrorCode)]
#[expect(missing_docs, reason = "the table below has the meaning of each code")]
pub enum Code {
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
    RoleNotAllowed,
    StepUpRequired,
    FeatureDisabled,
    NotFound,
    MethodNotAllowed,
    Duplicate,
    IdempotencyKeyReused,
    CursorUnknown,
    LastSignInMethod,
    LastOwner,
    LimitReached,
    PreconditionFailed,
    BodyTooLarge,
    UnsupportedMediaType,
    PreconditionRequired,
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
                "The API key lacks a scope that the call requires, or one of its restrictions forbids the call: `param` names it.",
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
            Self::RoleNotAllowed => (
                StatusCode::FORBIDDEN,
                "your role does not include this",
                "An operator's role does not include this. Only in the console and the audit log.",
            ),
            Self::StepUpRequired => (
                StatusCode::FORBIDDEN,
                "prove your second factor again",
                "An operator has to prove the second factor again first. Only in the console and the audit log.",
            ),
            Self::FeatureDisabled => (
                StatusCode::FORBIDDEN,
                "this is disabled in the App's settings; see `vestry app set`",
                "The App's settings do not allow the operation, or the App is disabled (`param` is `app`).",
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
            Self::PreconditionFailed => (
                StatusCode::PRECONDITION_FAILED,
                "the object has changed; read it again and send its ETag as If-Match",
                "`If-Match` is not the current `ETag` of the object, which the response has. Read the object again.",
            ),
            Self::PreconditionRequired => (
                StatusCode::PRECONDITION_REQUIRED,
                "this call needs the ETag of the object as If-Match",
                "The call needs the header `If-Match` with the `ETag` of the object that it changes.",
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
            Self::LastOwner => (
                StatusCode::CONFLICT,
                "this is the last owner who can sign in; add another one first",
                "The last owner who can sign in cannot be removed, disabled or demoted.",
            ),
            Self::LimitReached => (
                StatusCode::CONFLICT,
                "the maximum number of these is reached; delete one first",
                "The maximum number of these objects is reached: of a user, an environment or the deployment.",
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

    /// The status of its responses.
    pub const fn status(self) -> StatusCode {
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
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::MissingField => "missing_field",
            Self::InvalidField => "invalid_field",
            Self::UnknownField => "unknown_field",
            Self::InvalidOtp => "invalid_otp",
            Self::InvalidMagicToken => "invalid_magic_token",
            Self::MagicLinkExpired => "magic_link_expired",
            Self::MagicLinkNotVerified => "magic_link_not_verified",
            Self::InvalidRequestOriginToken => "invalid_request_origin_token",
            Self::InvalidOauthToken => "invalid_oauth_token",
            Self::InvalidState => "invalid_state",
            Self::ProviderNotConfigured => "provider_not_configured",
            Self::RedirectUrlMissing => "redirect_url_missing",
            Self::RedirectUrlNotAllowed => "redirect_url_not_allowed",
            Self::MessageIsTransaction => "message_is_transaction",
            Self::UnsupportedMethod => "unsupported_method",
            Self::DecryptionFailed => "decryption_failed",
            Self::AddressMismatch => "address_mismatch",
            Self::HttpsRequired => "https_required",
            Self::MissingApiKey => "missing_api_key",
            Self::InvalidApiKey => "invalid_api_key",
            Self::InvalidSession => "invalid_session",
            Self::InvalidCredentials => "invalid_credentials",
            Self::KeyNotAllowed => "key_not_allowed",
            Self::InsufficientFactor => "insufficient_factor",
            Self::WalletReadOnly => "wallet_read_only",
            Self::WalletDisabled => "wallet_disabled",
            Self::PolicyDenied => "policy_denied",
            Self::RoleNotAllowed => "role_not_allowed",
            Self::StepUpRequired => "step_up_required",
            Self::FeatureDisabled => "feature_disabled",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::Duplicate => "duplicate",
            Self::IdempotencyKeyReused => "idempotency_key_reused",
            Self::CursorUnknown => "cursor_unknown",
            Self::LastSignInMethod => "last_sign_in_method",
            Self::LastOwner => "last_owner",
            Self::LimitReached => "limit_reached",
            Self::PreconditionFailed => "precondition_failed",
            Self::BodyTooLarge => "body_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::PreconditionRequired => "precondition_required",
            Self::RateLimited => "rate_limited",
            Self::TooManyAttempts => "too_many_attempts",
            Self::Internal => "internal",
            Self::Unavailable => "unavailable",
            Self::Sealed => "sealed",
        }
    }
}
