//! `/v1/audit`

pub(crate) mod list;
