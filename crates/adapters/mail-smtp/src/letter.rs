//! A message in mail format (RFC 5322), with its envelope.

use std::time::{Duration, SystemTime};

use lettre::message::header::{HeaderName, HeaderValue, MessageId};
use lettre::message::{Mailbox, MultiPart, MultiPartKind, SinglePart};
use lettre::{Address, Message as Mail};
use vestry_domain::email::Email;
use vestry_domain::ids::JobId;
use vestry_domain::message::Message;

/// A mail that is ready to be sent.
pub(crate) struct Letter {
    /// The address for bounces.
    pub(crate) from: Address,
    /// The recipient. The domain is ASCII; the part before the `@` need not be.
    pub(crate) to: Address,
    /// Header and body, with CRLF line endings.
    pub(crate) bytes: Vec<u8>,
}

/// Why a message cannot be written as a mail.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unwritable {
    /// Not a valid address for mail.
    #[error("the recipient is not an e-mail address")]
    Recipient,
    /// A control character in the subject: a line break would begin another header.
    #[error("the subject contains a control character")]
    Subject,
    /// The library refused a part.
    #[error("the mail cannot be assembled")]
    Assembly(#[source] lettre::error::Error),
}

impl Letter {
    /// Writes the mail of a job.
    ///
    /// The same job always gives the same bytes: the date is that of the job, and the boundary of its parts is derived from the job's id.
    ///
    /// # Errors
    /// See [`Unwritable`].
    pub(crate) fn write(from: &Mailbox, id: JobId, message: &Message) -> Result<Self, Unwritable> {
        if message.subject.chars().any(char::is_control) {
            return Err(Unwritable::Subject);
        }
        let to = recipient(&message.to)?;
        let domain = from.email.domain();
        let headers = Mail::builder()
            .from(from.clone())
            .to(Mailbox::new(None, to.clone()))
            .subject(message.subject.as_str())
            .header(MessageId::from(format!("<{id}@{domain}>")))
            .date(date(id))
            // RFC 3834: prevents automatic replies.
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ));
        let text = SinglePart::plain(lines(&message.text));
        let parts = MultiPart::builder()
            .kind(MultiPartKind::Alternative)
            .boundary(id.to_string())
            .singlepart(text);
        let parts = if message.html.is_empty() {
            parts
        } else {
            parts.singlepart(SinglePart::html(lines(&message.html)))
        };
        let mail = headers.multipart(parts).map_err(Unwritable::Assembly)?;
        Ok(Self {
            from: from.email.clone(),
            to,
            bytes: mail.formatted(),
        })
    }
}

/// Returns the address as its owner wrote it, with the domain in ASCII.
///
/// The normalised form would be wrong here: local parts that differ only in case can be different mailboxes, and mail must go to the one
/// that was written.
fn recipient(to: &str) -> Result<Address, Unwritable> {
    let Ok(email) = Email::parse(to) else {
        return Err(Unwritable::Recipient);
    };
    let destination = email.destination();
    let Some((user, domain)) = destination.split_once('@') else {
        return Err(Unwritable::Recipient);
    };
    match Address::new(user, domain) {
        Ok(address) => Ok(address),
        Err(_) => Err(Unwritable::Recipient),
    }
}

/// Returns when the job was created, which is part of its id.
fn date(id: JobId) -> SystemTime {
    let seconds = u64::try_from(id.timestamp().unix()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Some servers treat a bare carriage return as a line ending and some do not; the library converts only line feeds to CRLF.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

#[cfg(test)]
mod tests;
