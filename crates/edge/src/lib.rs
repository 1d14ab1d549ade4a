//! What all HTTP crates share: everything between the socket and a handler, and the OpenAPI document.
//!
//! A request passes through the `edge` (request id, HTTPS rule, error bodies, log line) and the `gate` of its endpoint (key, rate limit,
//! `cors` and `catch_panic`). A request with an `Idempotency-Key` then passes through `idempotency`. Its handler reads it with the extractors
//! of this crate and returns a [`Problem`] if it fails. `problem` has the table of all errors.
//!
//! An HTTP crate lists its endpoints in a table ([`endpoints!`]). The server combines the tables in an [`Api`] and mounts it
//! ([`configure`]).
//!
//! Errors that actix returns while it reads a request's head (broken framing, a head that is too long or too slow) have a status and no
//! body. They never reach our code.
//!
//! This crate never sees storage, adapters, SQL or private keys.

mod api;
mod auth_throttle;
pub mod binary;
pub mod body;
mod call;
mod catch_panic;
pub mod client;
mod cors;
mod edge;
mod endpoint;
mod gate;
mod https;
mod idempotency;
pub mod json;
mod measure;
mod openapi;
mod path;
mod problem;
pub mod query;
mod request_id;
mod route;
mod router;
mod sdk;
mod settings;
mod state;
mod trace;
pub mod views;

pub use actix_web::web::Json;
pub use api::Api;
pub use body::{Body, BodyAndText, OptionalBody};
pub use call::Call;
pub use edge::CONSOLE;
pub use endpoint::Endpoint;
pub use gate::Auth;
pub use https::METRICS;
pub use openapi::capitalized;
pub use path::PathId;
pub use problem::{Code, Problem};
pub use query::Query;
pub use request_id::RequestId;
pub use route::Route;
pub use router::{Pages, by_path, by_prefix, configure};
pub use sdk::Sdk;
pub use settings::{Draining, LoggedRequests, RequestLog, TrustedProxies, WebSettings};
pub use state::State;
