//! Errors of commands, as shown at the terminal.

use std::error::Error;
use std::fmt;

use vestry_app::Refusal;

/// A message for the person who ran the command, and its cause.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
    kind: Kind,
}

/// The kind of failure. It determines the exit code, and whether the message is still to be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Exit code 1.
    Failed,
    /// Exit code 2: the command line itself is wrong.
    Usage,
    /// Exit code 1; the output on stdout already describes the problem.
    Reported,
    /// Exit code 3; the output on stdout lists the differences.
    Differs,
}

impl Failure {
    /// The exit code when the command line itself is wrong.
    pub(crate) const WRONG_USAGE: u8 = 2;

    /// A command that failed.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            cause: None,
            kind: Kind::Failed,
        }
    }

    /// An invalid request on the command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Usage,
            ..Self::new(message)
        }
    }

    /// A command that ran to its end and has printed a negative result.
    pub(crate) fn reported(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Reported,
            ..Self::new(message)
        }
    }

    /// A comparison that has found differences and printed them.
    pub(crate) fn differs(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Differs,
            ..Self::new(message)
        }
    }

    /// Converts an error of a use case. `message` describes the state after a fault.
    pub(crate) fn of(error: Refusal, message: &str) -> Self {
        match error {
            Refusal::Invalid(invalid) => Self::usage(invalid.message),
            Refusal::Fault(fault) => Self::new(message).because(fault),
            Refusal::NotFound(what) => Self::new(format!("no such {what}")),
            error => Self::new(error.to_string()),
        }
    }

    /// Adds the cause.
    pub(crate) fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// The exit code: 1 for failure, 2 for wrong usage, 3 for differences.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Failed | Kind::Reported => 1,
            Kind::Usage => Self::WRONG_USAGE,
            Kind::Differs => 3,
        }
    }

    /// Whether stdout already contains the result.
    pub(crate) fn is_reported(&self) -> bool {
        matches!(self.kind, Kind::Reported | Kind::Differs)
    }
}

/// Prints the whole chain of causes on one line.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut shown = self.message.clone();
        let mut next: Option<&dyn Error> = match &self.cause {
            Some(cause) => Some(cause.as_ref()),
            None => None,
        };
        while let Some(cause) = next {
            let text = cause.to_string();
            // Some errors repeat their source in their own text.
            if !shown.contains(&text) {
                write!(f, ": {text}")?;
                shown = text;
            }
            next = cause.source();
        }
        Ok(())
    }
}

impl From<Refusal> for Failure {
    fn from(error: Refusal) -> Self {
        Self::of(error, "command failed; nothing was changed")
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        None
    }
}

/// Adds a message to an error.
pub(crate) trait Context<T> {
    /// Makes the error the cause of a [`Failure`] with this message.
    fn context(self, message: impl Into<String>) -> Result<T, Failure>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> Context<T> for Result<T, E> {
    fn context(self, message: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|cause| Failure::new(message).because(cause))
    }
}
