//! Why a command did not end well.

/// The two ways to fail, which are two exit codes.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line makes no sense: exit code 2, with the overview.
    Usage(String),
    /// The command ran and something was not as it must be: exit code 1.
    Failed(String),
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }
}

/// Puts what was being done in front of an error of the standard library.
pub(crate) trait Context<T> {
    fn context(self, doing: impl std::fmt::Display) -> Result<T, Failure>;
}

impl<T, E: std::fmt::Display> Context<T> for Result<T, E> {
    fn context(self, doing: impl std::fmt::Display) -> Result<T, Failure> {
        self.map_err(|cause| Failure::new(format!("{doing}: {cause}")))
    }
}
