//! The suites against the fakes, and behaviour of the fakes beyond the suites.

mod fakes;
mod lists;
mod samples;
mod suites;
mod words;
