//! The API description, for programs and for people.

pub(crate) mod document;
pub(crate) mod page;
pub(crate) mod style;
