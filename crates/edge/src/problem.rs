//! Error responses. [`Code`] is the table of all error codes.

mod constructors;
mod from_app;
mod page;
mod replay;
mod table;

use std::borrow::Cow;
use std::fmt;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use utoipa::ToSchema;
use vestry_domain::Invalid;
use vestry_domain::invalid::Reason;

use crate::json::Refused;

pub(crate) use page::{PageWanted, page_headers};
pub use table::Code;

/// An error response. Its body is written at the edge, where the request id is known.
#[derive(Debug)]
pub struct Problem {
    pub(crate) code: Code,
    message: Cow<'static, str>,
    param: Option<Cow<'static, str>>,
    /// Value of `Retry-After`, in seconds.
    pub(crate) retry_after: Option<u64>,
    /// Value of `Allow`: the supported methods.
    pub(crate) allow: Option<Box<str>>,
    /// Value of `ETag`: that of the object that the request would have changed.
    pub(crate) etag: Option<Box<str>>,
    /// Whether the connection must be closed.
    pub(crate) closes: bool,
    /// The cause, for the log only; never part of the response.
    pub(crate) cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Problem {
    /// The error code, if it denies a permission of the caller or its user and is therefore recorded in the audit log.
    pub(crate) const fn recorded(&self) -> Option<&'static str> {
        match self.code {
            Code::KeyNotAllowed => Some("key_not_allowed"),
            Code::InsufficientFactor => Some("insufficient_factor"),
            Code::PolicyDenied => Some("policy_denied"),
            Code::FeatureDisabled => Some("feature_disabled"),
            Code::RoleNotAllowed => Some("role_not_allowed"),
            Code::StepUpRequired => Some("step_up_required"),
            _ => None,
        }
    }

    /// Whether an object of this kind does not exist.
    pub(crate) fn is_unknown(&self, resource: &str) -> bool {
        matches!(self.code, Code::NotFound) && self.param.as_deref() == Some(resource)
    }

    /// The error code.
    pub const fn code(&self) -> Code {
        self.code
    }

    /// What went wrong, for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Value of `Retry-After`, in seconds.
    pub const fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// How long to wait before a retry, in words.
    pub fn wait(&self) -> String {
        match self.retry_after.unwrap_or(60).div_ceil(60) {
            0 | 1 => "a minute".to_owned(),
            minutes => format!("{minutes} minutes"),
        }
    }

    /// Logs the internal failure behind it, if there is one, with its whole chain of causes. The response contains none of it.
    pub fn report(&self, request_id: &str) {
        let Some(cause) = &self.cause else {
            return;
        };
        let mut causes = cause.to_string();
        let mut next = cause.source();
        while let Some(deeper) = next {
            causes.push_str(": ");
            causes.push_str(&deeper.to_string());
            next = deeper.source();
        }
        let code = self.code.as_str();
        tracing::error!(request_id, code, cause = causes, "request failed");
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
