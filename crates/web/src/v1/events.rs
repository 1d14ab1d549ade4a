//! `/v1/events`

pub(crate) mod get;
pub(crate) mod head;
pub(crate) mod list;
