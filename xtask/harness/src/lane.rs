//! Lanes: parts of the suite that need a third-party program.

use crate::environment;
use crate::failure::Failure;

/// A program that is missing on this machine.
pub struct Missing {
    /// The lanes that cannot run without it, as in `VESTRY_TEST_LANES_MISSING`.
    pub lanes: &'static [&'static str],
    /// How to get the program, as a command where there is one.
    pub remedy: &'static str,
}

impl Missing {
    /// Reports the missing program in one line; under CI that is a failure.
    pub fn announce(&self) -> Result<(), Failure> {
        let message = format!(
            "cannot run here: {}; to get it: {}",
            self.lanes.join(", "),
            self.remedy
        );
        if environment::is_ci() {
            return Err(Failure::new(format!(
                "{message} (CI is set, so no lane may be skipped)"
            )));
        }
        eprintln!("xtask: {message}");
        Ok(())
    }
}
