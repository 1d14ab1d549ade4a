//! Everything between the socket and a handler: the edge, the gate, idempotent runs, extractors and error responses.

mod auth_throttle;
pub(crate) mod binary;
pub(crate) mod body;
mod call;
mod catch_panic;
pub(crate) mod client;
pub(crate) mod cors;
pub(crate) mod edge;
pub(crate) mod endpoint;
pub(crate) mod gate;
mod https;
pub(crate) mod idempotency;
pub(crate) mod json;
mod path;
pub(crate) mod problem;
pub(crate) mod query;
mod request_id;
pub(crate) mod settings;
mod state;

pub(crate) use actix_web::web::Json;
pub(crate) use body::{Body, BodyAndText, OptionalBody};
pub(crate) use call::Call;
pub(crate) use path::PathId;
pub(crate) use problem::{Code, Problem};
pub(crate) use query::Query;
pub(crate) use state::State;
