//! The API of Apps. A handler parses a request, calls one use case, and renders the result. It makes no decisions of its own.
//!
//! Each handler has its own file, in `v1`. `routes` is the table of all endpoints. `vestry_edge` builds the router and the OpenAPI
//! document from it, and has everything between the socket and a handler.
//!
//! This crate never sees storage, adapters, SQL or private keys.

mod health;
mod openapi;
mod reference;
mod routes;
mod v1;

pub use openapi::description;
pub use routes::{endpoints, probes};

#[cfg(test)]
static API: vestry_edge::Api = vestry_edge::Api::new(description, &[endpoints]);
