//! Sending text messages.

use vestry_domain::ids::JobId;
use vestry_domain::message::Message;
use vestry_domain::timestamp::Seconds;
use vestry_port_macro::port;

/// Why a text message was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SmsError {
    /// It may work later: no connection, a timeout, a 5xx, or too many at once.
    #[error("the SMS provider did not take the message for now")]
    Transient {
        /// How long the provider wants to be left alone, when it said so.
        retry_after: Option<Seconds>,
        /// Why.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It will not work: the provider refuses the number or the message.
    #[error("the SMS provider refused the message")]
    Permanent(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Hands finished text messages to a provider.
#[port]
pub trait SmsSender: Send + Sync {
    /// Sends one text message. The id is that of the job, for what a provider offers to recognize a message by.
    ///
    /// # Errors
    /// See [`SmsError`]; `Ok` means that the provider took responsibility for the message.
    async fn send(&self, id: JobId, message: &Message) -> Result<(), SmsError>;

    /// Authenticates without sending anything.
    ///
    /// # Errors
    /// As for [`SmsSender::send`].
    async fn probe(&self) -> Result<(), SmsError>;
}
