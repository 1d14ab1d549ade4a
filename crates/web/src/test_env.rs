//! What only test keys can do.

pub(crate) mod clear_messages;
pub(crate) mod messages;
