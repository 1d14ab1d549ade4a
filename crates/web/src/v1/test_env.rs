//! Endpoints available to test keys only.

pub(crate) mod clear_messages;
mod clock;
pub(crate) mod messages;
pub(crate) mod read_clock;
pub(crate) mod reset_clock;
pub(crate) mod set_clock;
