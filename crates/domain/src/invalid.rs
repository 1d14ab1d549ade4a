//! What is wrong with one value that somebody sent.

use std::borrow::Cow;

/// A value was refused: which field, which kind of refusal, and a sentence for the person who sent it.
///
/// `param` is the path of the field as the caller wrote it (`email`, `metadata.address`).
/// The message never repeats the value: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{param}: {message}")]
pub struct Invalid {
    /// Path of the refused field.
    pub param: Cow<'static, str>,
    /// The sort of refusal; picks the error code on the wire.
    pub reason: Reason,
    /// What is wrong and what would be right, as one sentence without a full stop.
    pub message: Cow<'static, str>,
}

/// The sort of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A required field is absent (`missing_field`).
    Missing,
    /// The field is there and its value cannot be accepted (`invalid_field`).
    Value,
    /// A name in the value, such as a search field or operator, is not known (`unknown_field`).
    Unknown,
}

impl Invalid {
    /// A required field is absent.
    pub fn missing(param: impl Into<Cow<'static, str>>) -> Self {
        let param = param.into();
        let message = format!("{param} is required").into();
        Self {
            param,
            reason: Reason::Missing,
            message,
        }
    }

    /// The field's value cannot be accepted.
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

    /// The same refusal of a field that lies within another one.
    #[must_use]
    pub fn within(self, parent: &str) -> Self {
        Self {
            param: format!("{parent}.{}", self.param).into(),
            ..self
        }
    }

    /// The value names something that does not exist.
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
