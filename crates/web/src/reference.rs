//! The description of the API, for programs and for people.
//!
//! It describes these endpoints as well, so they do not make it: whoever knows all endpoints hands it in.

pub(crate) mod document;
pub(crate) mod page;
pub(crate) mod style;

use std::sync::OnceLock;

use actix_web::web::Bytes;

/// What is shown.
pub(crate) struct Description {
    document: fn() -> &'static str,
    paths: fn() -> Vec<String>,
    /// Made when it is first asked for.
    page: OnceLock<Bytes>,
}

impl Description {
    /// The description as JSON, and the paths of the API in the order in which people shall read of them.
    pub(crate) const fn new(document: fn() -> &'static str, paths: fn() -> Vec<String>) -> Self {
        Self {
            document,
            paths,
            page: OnceLock::new(),
        }
    }
}
