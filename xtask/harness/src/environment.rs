//! Environment variables read by xtask.

/// The value of a variable, when it is set, not empty and UTF-8.
#[expect(
    clippy::disallowed_methods,
    reason = "the only place of the commands that reads the environment"
)]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether this is a CI run, in which a lane that cannot run is a failure.
pub fn is_ci() -> bool {
    variable("CI").is_some_and(|value| value != "false" && value != "0")
}
