//! Errors about a single value in a request.

use std::borrow::Cow;

/// The rejection of a value: the field, the kind of error, and a message for the caller.
///
/// `param` is the path of the field as the caller wrote it (`email`, `metadata.address`). The message never repeats the value, which may be
/// a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{param}: {message}")]
pub struct Invalid {
    /// Path of the rejected field.
    pub param: Cow<'static, str>,
    /// The kind of error; determines the error code on the wire.
    pub reason: Reason,
    /// The problem and the expected value, as one sentence without a full stop.
    pub message: Cow<'static, str>,
}

/// The kind of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A required field is absent (`missing_field`).
    Missing,
    /// The field is present, but its value is not accepted (`invalid_field`).
    Value,
    /// A name in the value, such as a search field or operator, is unknown (`unknown_field`).
    Unknown,
}

impl Invalid {
    /// Creates the error for a missing required field.
    pub fn missing(param: impl Into<Cow<'static, str>>) -> Self {
        let param = param.into();
        let message = format!("{param} is required").into();
        Self {
            param,
            reason: Reason::Missing,
            message,
        }
    }

    /// Creates the error for a value that is not accepted.
    pub fn value(
        param: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            param: param.into(),
            reason: Reason::Value,
            message: message.into(),
        }
    }

    /// The same error for a field nested in another one.
    #[must_use]
    pub fn within(self, parent: &str) -> Self {
        Self {
            param: format!("{parent}.{}", self.param).into(),
            ..self
        }
    }

    /// Creates the error for a value that names something unknown.
    pub fn unknown(
        param: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            param: param.into(),
            reason: Reason::Unknown,
            message: message.into(),
        }
    }
}
