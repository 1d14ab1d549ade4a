//! Constructors of errors, and the details that can be added to one.

use std::borrow::Cow;
use std::time::Duration;

use vestry_domain::timestamp::Seconds;

use super::{Code, Problem};

impl Problem {
    /// An error with the message of its code in the table.
    pub const fn new(code: Code) -> Self {
        Self {
            code,
            message: Cow::Borrowed(code.message()),
            param: None,
            retry_after: None,
            allow: None,
            etag: None,
            closes: false,
            cause: None,
        }
    }

    /// The request as a whole is malformed.
    pub fn request(message: &'static str) -> Self {
        Self {
            message: message.into(),
            ..Self::new(Code::InvalidRequest)
        }
    }

    /// An object named in the request does not exist. An object of another App gets the same error.
    pub fn not_found(resource: &'static str) -> Self {
        Self {
            message: format!("{resource} does not exist").into(),
            param: Some(resource.into()),
            ..Self::new(Code::NotFound)
        }
    }

    /// No endpoint has this path. Also returned by endpoints that are hidden from the key (S-17).
    pub fn no_route() -> Self {
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
        .with_source(cause)
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

    /// The object has another `ETag` than the `If-Match` of the request: this one.
    pub fn precondition_failed(etag: Option<String>) -> Self {
        Self {
            etag: etag.map(Into::into),
            ..Self::new(Code::PreconditionFailed)
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
            allow: Some(allow.into()),
            ..Self::new(Code::MethodNotAllowed)
        }
    }

    /// An internal failure; its cause is logged.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(Code::Internal).with_source(cause)
    }

    /// A dependency is unavailable.
    pub fn unavailable(part: &'static str) -> Self {
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

    /// Sets `Retry-After`.
    pub(crate) fn with_retry_after(self, wait: Seconds) -> Self {
        Self {
            retry_after: Some(wait.at_least_one()),
            ..self
        }
    }

    /// Sets the cause, for the log.
    pub fn with_source(self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..self
        }
    }

    /// Closes the connection after the response.
    pub(crate) fn close_connection(self) -> Self {
        Self {
            closes: true,
            ..self
        }
    }
}
