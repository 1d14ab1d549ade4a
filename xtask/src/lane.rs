//! Lanes: parts of the suite that need a program which is not ours.

use crate::environment;
use crate::failure::Failure;

/// A program that this machine does not have.
pub(crate) struct Missing {
    /// The lanes that cannot run without it, as in `VESTRY_TEST_LANES_MISSING`.
    pub(crate) lanes: &'static [&'static str],
    /// How to get the program, as a command where there is one.
    pub(crate) remedy: &'static str,
}

impl Missing {
    /// Says so in one line; under continuous integration that is a failure.
    pub(crate) fn announce(&self) -> Result<(), Failure> {
        let message = format!(
            "cannot run here: {}; to get it: {}",
            self.lanes.join(", "),
            self.remedy
        );
        if environment::is_ci() {
            return Err(Failure::new(format!(
                "{message} (CI is set, so nothing may be left out)"
            )));
        }
        eprintln!("xtask: {message}");
        Ok(())
    }
}
