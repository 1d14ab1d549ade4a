//! The API description, for programs and for people.
//!
//! It covers these endpoints too, so it is built by the module that knows all endpoints and passed in.

pub(crate) mod document;
pub(crate) mod page;
pub(crate) mod style;

use std::sync::OnceLock;

use actix_web::web::Bytes;

/// The API description that the reference endpoints serve.
pub(crate) struct Description {
    document: fn() -> &'static str,
    paths: fn() -> Vec<String>,
    /// The rendered page, created on first use.
    page: OnceLock<Bytes>,
}

impl Description {
    /// Takes the description as JSON, and the paths of the API in the order in which the page lists them.
    pub(crate) const fn new(document: fn() -> &'static str, paths: fn() -> Vec<String>) -> Self {
        Self {
            document,
            paths,
            page: OnceLock::new(),
        }
    }
}
