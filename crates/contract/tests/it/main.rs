//! The suites against the fakes, and what the fakes do beyond the suites.

mod fakes;
mod lists;
mod samples;
mod suites;
