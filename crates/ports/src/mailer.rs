//! Sending mail.

use vestry_domain::ids::JobId;
use vestry_domain::message::Message;
use vestry_port_macro::port;

/// Why a message was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// It may work later: no connection, a timeout, an SMTP 4xx.
    #[error("the mail transport did not take the message for now")]
    Transient(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It will not work: an SMTP 5xx, an address that the transport cannot write.
    #[error("the mail transport refused the message")]
    Permanent(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Hands finished mails to a transport.
#[port]
pub trait Mailer: Send + Sync {
    /// Sends one mail. The job's id makes a stable `Message-ID`, so that a mail sent twice after a crash can be recognized.
    ///
    /// # Errors
    /// See [`SendError`]; `Ok` means that the next server took responsibility for the mail.
    async fn send(&self, id: JobId, message: &Message) -> Result<(), SendError>;

    /// Connects and authenticates without sending anything.
    ///
    /// # Errors
    /// As for [`Mailer::send`].
    async fn probe(&self) -> Result<(), SendError>;
}
