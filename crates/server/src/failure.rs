//! Why a command did not do what it was asked, as the person at the terminal reads it.

use std::error::Error;
use std::fmt;

/// A sentence for the person who typed the command, and the cause below it.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
    kind: Kind,
}

/// Decides the exit code, and whether anything is left to be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Exit code 1.
    Failed,
    /// Exit code 2: the command line itself is wrong.
    Usage,
    /// Exit code 1; the answer on stdout says what is wrong.
    Answered,
}

impl Failure {
    /// The exit code when the command line itself is wrong.
    pub(crate) const WRONG_USAGE: u8 = 2;

    /// The command was understood and failed.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            cause: None,
            kind: Kind::Failed,
        }
    }

    /// The command line asks for something that cannot be.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Usage,
            ..Self::new(message)
        }
    }

    /// The command ran to its end, its answer is printed, and the answer is bad news.
    pub(crate) fn answered(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Answered,
            ..Self::new(message)
        }
    }

    /// The same with what was underneath.
    pub(crate) fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// 1 for failed, 2 for wrong usage.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Failed | Kind::Answered => 1,
            Kind::Usage => Self::WRONG_USAGE,
        }
    }

    /// Whether stdout has said it all.
    pub(crate) fn is_answered(&self) -> bool {
        self.kind == Kind::Answered
    }
}

/// The whole chain of causes in one line: a person at a terminal has no `source()` to call.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut said = self.message.clone();
        let mut next: Option<&dyn Error> = match &self.cause {
            Some(cause) => Some(cause.as_ref()),
            None => None,
        };
        while let Some(cause) = next {
            let text = cause.to_string();
            // Some errors repeat their source in their own text.
            if !said.contains(&text) {
                write!(f, ": {text}")?;
                said = text;
            }
            next = cause.source();
        }
        Ok(())
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        None
    }
}

/// Puts a sentence above a cause.
pub(crate) trait Context<T> {
    /// The error becomes the cause of a [`Failure`] with this message.
    fn context(self, message: impl Into<String>) -> Result<T, Failure>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> Context<T> for Result<T, E> {
    fn context(self, message: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|cause| Failure::new(message).because(cause))
    }
}
