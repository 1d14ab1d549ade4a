//! The HTTP edge of the API. It parses a request, calls one use case, and renders the result. It makes no decisions of its own.
//!
//! A request passes through the `http::edge` (request id, HTTPS rule, error bodies, log line) and the `http::gate` of its endpoint (key,
//! rate limit, `cors` and `catch_panic`). Then it reaches its handler. Each handler has its own file, in `v1`.
//!
//! `routes` is the table of all endpoints, from which both the router and the OpenAPI description are built. `http::problem` has the table
//! of all errors.
//!
//! Errors that actix returns while it reads a request's head (broken framing, a head that is too long or too slow) have a status and no
//! body. They never reach this crate's code.
//!
//! This crate never sees storage, adapters, SQL or private keys.

mod health;
mod http;
mod openapi;
mod reference;
mod routes;
mod v1;
pub mod views;

use std::sync::Arc;

use actix_web::body::BoxBody;
use actix_web::dev::ServiceRequest;
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{Route, Scope};
use vestry_app::Service;

use http::endpoint;
use http::{Problem, State, edge};
use reference::Description;

pub use http::settings::{Draining, WebSettings};

/// Returns the configuration of an actix `App` for this service, to be passed to `App::configure`.
///
/// Whether a listener uses TLS, and its address, are read from the listener itself, so one factory serves all of them.
pub fn configure(
    service: Arc<Service>,
    settings: WebSettings,
) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    let state = Data::new(State::new(service, settings));
    let description = Data::new(Description::new(openapi::text, routes::paths));
    move |config| {
        let at_the_edge = state.clone();
        let edge = from_fn(move |request: ServiceRequest, next: Next<BoxBody>| {
            edge::edge(at_the_edge.clone(), request, next)
        });
        let mut everything = web::scope("")
            .app_data(state.clone())
            .app_data(description.clone());
        for (prefix, paths) in routes::by_prefix() {
            let resources = paths
                .iter()
                .filter_map(|endpoints| endpoint::resource(&state, &prefix, endpoints));
            if prefix.is_empty() {
                everything = resources.fold(everything, Scope::service);
            } else {
                let group = web::scope(&prefix).default_service(nowhere());
                everything = everything.service(resources.fold(group, Scope::service));
            }
        }
        config.service(everything.default_service(nowhere()).wrap(edge));
    }
}

/// The route for paths without an endpoint.
fn nowhere() -> Route {
    web::to(|| async { Err::<String, _>(Problem::no_route()) })
}

/// Returns the OpenAPI 3.1 description of the API as pretty-printed JSON, ending with a newline.
pub fn openapi() -> String {
    openapi::text().to_owned()
}
