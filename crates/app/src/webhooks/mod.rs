//! Webhooks: events on their way to whoever an App names.

mod request;
mod send;

pub(crate) use request::{opened_secrets, secret_place, webhook_request};
