//! The servers available to the tests.

/// An environment variable set by `cargo xtask test`; an empty one counts as absent.
pub fn variable(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "where the tests find their servers; not a setting of the service"
    )]
    let value = std::env::var(name);
    value.ok().filter(|text| !text.is_empty())
}

/// The address of a lane's server, from an environment variable. `None`, with a message, if the lane was excluded on purpose. If the server
/// is missing but not excluded, the test fails and says how to fix it.
pub fn server(lane: &str, name: &str, remedy: &str) -> Option<String> {
    let lacks = format!("{name} is not set: {remedy}, or run cargo xtask test");
    required(lane, variable(name), &lacks)
}

/// The given requirement of a lane, if it was found. `None`, with a message, if the lane was excluded on purpose. If the requirement is
/// missing but not excluded, the test fails with `lacks`.
pub fn required<T>(lane: &str, found: Option<T>, lacks: &str) -> Option<T> {
    if found.is_some() {
        return found;
    }
    let missing = variable("VESTRY_TEST_LANES_MISSING").unwrap_or_default();
    let is_left_out = missing.split(',').any(|missing| missing.trim() == lane);
    assert!(
        is_left_out,
        "{lacks}; to skip these tests, set VESTRY_TEST_LANES_MISSING={lane}"
    );
    println!("skipped: lane {lane} is excluded");
    None
}
