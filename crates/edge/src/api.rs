//! The API of a process: the endpoints of its HTTP crates, and one description of them.

use std::sync::OnceLock;

use serde_json::Value;
use utoipa::openapi::OpenApi;

use crate::endpoint::Endpoint;
use crate::openapi;

/// The endpoints that a process serves, and their description, which is made on first use.
pub struct Api {
    base: fn() -> OpenApi,
    tables: &'static [fn() -> Vec<Endpoint>],
    document: OnceLock<String>,
    page: OnceLock<String>,
}

impl Api {
    /// An API of the endpoints in these tables, each the table of one crate. `base` is the rest of the OpenAPI document, such as its
    /// introduction and the webhooks.
    pub const fn new(base: fn() -> OpenApi, tables: &'static [fn() -> Vec<Endpoint>]) -> Self {
        Self {
            base,
            tables,
            document: OnceLock::new(),
            page: OnceLock::new(),
        }
    }

    /// All endpoints, in the order of the tables.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        self.tables.iter().flat_map(|table| table()).collect()
    }

    /// The OpenAPI 3.1 document as pretty-printed JSON, ending with a newline.
    pub fn openapi(&self) -> &str {
        self.document.get_or_init(|| {
            let mut document = (self.base)();
            let endpoints = self.endpoints();
            openapi::describe(&mut document, &endpoints);
            let mut document = serde_json::to_value(&document).unwrap_or_default();
            openapi::describe_libraries(&mut document, &endpoints);
            let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
            text.push('\n');
            text
        })
    }

    /// The page that `render` makes of the OpenAPI document and the paths of the API, in table order. It is rendered once.
    pub fn page(&self, render: fn(&Value, &[String]) -> String) -> &str {
        self.page.get_or_init(|| {
            let document = serde_json::from_str(self.openapi()).unwrap_or_default();
            let endpoints = self.endpoints().into_iter();
            let paths: Vec<String> = endpoints.map(|endpoint| endpoint.path).collect();
            render(&document, &paths)
        })
    }
}

#[cfg(test)]
mod tests;
