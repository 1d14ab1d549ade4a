//! What leaves the service: messages, events and webhooks.

pub mod dead_messages;
pub mod events;
pub mod outbox;
pub(crate) mod outbox_message;
pub mod outbox_numbers;
pub mod test_messages;
pub mod webhooks;
