//! Webhooks: delivery of events to the endpoints of an App.

mod replay;
mod request;
mod send;
mod throttle;

pub(crate) use replay::fitting;
pub(crate) use request::{opened_secrets, secret_place, webhook_request};
