//! Sending mail.

use vestry_domain::ids::JobId;
use vestry_domain::message::Message;
use vestry_port_macro::port;

/// The reason that a message was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The transport works, but postponed this recipient: an SMTP 4xx to it. A retry may succeed.
    #[error("the mail transport postponed the recipient")]
    Postponed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A retry may succeed: no connection, a timeout, any other SMTP 4xx.
    #[error("the mail transport failed temporarily")]
    Transient(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A retry cannot succeed: an SMTP 5xx, or an address that the transport does not support.
    #[error("the mail transport rejected the message")]
    Permanent(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Passes rendered mails to a transport.
#[port]
pub trait Mailer: Send + Sync {
    /// Sends one mail. The job's id determines a stable `Message-ID`, so that duplicates sent after a crash can be recognized.
    ///
    /// # Errors
    /// See [`SendError`]; `Ok` means that the next server has taken responsibility for the mail.
    async fn send(&self, id: JobId, message: &Message) -> Result<(), SendError>;

    /// Connects and authenticates without sending anything.
    ///
    /// # Errors
    /// As for [`Mailer::send`].
    async fn probe(&self) -> Result<(), SendError>;
}
