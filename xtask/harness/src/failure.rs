//! The error type of commands.

/// A failed command, with its exit code.
#[derive(Debug)]
pub enum Failure {
    /// The command line is invalid: exit code 2, with the overview.
    Usage(String),
    /// The command ran and failed: exit code 1.
    Failed(String),
}

impl Failure {
    /// A failure of a command that ran.
    pub fn new(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }
}

/// Adds the failed action to an error of the standard library.
pub trait Context<T> {
    /// Puts the failed action before the error.
    fn context(self, doing: impl std::fmt::Display) -> Result<T, Failure>;
}

impl<T, E: std::fmt::Display> Context<T> for Result<T, E> {
    fn context(self, doing: impl std::fmt::Display) -> Result<T, Failure> {
        self.map_err(|cause| Failure::new(format!("{doing}: {cause}")))
    }
}
