//! Sending text messages.

use vestry_domain::ids::JobId;
use vestry_domain::message::Message;
use vestry_domain::timestamp::Seconds;
use vestry_port_macro::port;

/// The reason that a text message was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum SmsError {
    /// A retry may succeed: no connection, a timeout, a 5xx, or rate limiting.
    #[error("the SMS provider failed temporarily")]
    Transient {
        /// How long the provider asks us to wait, if it says so.
        retry_after: Option<Seconds>,
        /// The cause.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A retry cannot succeed: the provider rejects the number or the message.
    #[error("the SMS provider rejected the message")]
    Permanent(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Passes rendered text messages to a provider.
#[port]
pub trait SmsSender: Send + Sync {
    /// Sends one text message. The job's id is passed to providers that can use it to recognize a message.
    ///
    /// # Errors
    /// See [`SmsError`]; `Ok` means that the provider has taken responsibility for the message.
    async fn send(&self, id: JobId, message: &Message) -> Result<(), SmsError>;

    /// Authenticates without sending anything.
    ///
    /// # Errors
    /// As for [`SmsSender::send`].
    async fn probe(&self) -> Result<(), SmsError>;
}
