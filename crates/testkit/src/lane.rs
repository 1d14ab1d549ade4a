//! Which servers the tests were told about.

/// A variable that `cargo xtask test` sets; an empty one counts as absent.
pub fn variable(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "where the tests find their servers; not a setting of the service"
    )]
    let value = std::env::var(name);
    value.ok().filter(|text| !text.is_empty())
}

/// What a variable says about the server of a lane. `None`, said aloud, where the lane was left out on purpose; a test
/// whose server is neither there nor left out fails, with the remedy.
pub fn server(lane: &str, name: &str, remedy: &str) -> Option<String> {
    let lacks = format!("{name} is not set: {remedy}, or run cargo xtask test");
    required(lane, variable(name), &lacks)
}

/// What a lane needs, if it was found. `None`, said aloud, where the lane was left out on purpose; a test that lacks what it needs and
/// whose lane was not left out fails, saying so.
pub fn required<T>(lane: &str, found: Option<T>, lacks: &str) -> Option<T> {
    if found.is_some() {
        return found;
    }
    let missing = variable("VESTRY_TEST_LANES_MISSING").unwrap_or_default();
    let is_left_out = missing.split(',').any(|missing| missing.trim() == lane);
    assert!(
        is_left_out,
        "{lacks}; to leave these tests out, name the lane: VESTRY_TEST_LANES_MISSING={lane}"
    );
    println!("not run: the lane {lane} is missing");
    None
}
