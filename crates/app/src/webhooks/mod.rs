//! Webhooks: events on their way to whoever an App names.

mod pace;
mod replay;
mod request;
mod send;

pub(crate) use replay::fitting;
pub(crate) use request::{opened_secrets, secret_place, webhook_request};
