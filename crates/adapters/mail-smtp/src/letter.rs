//! A message as the bytes of a mail (RFC 5322), and its envelope.

use std::time::{Duration, SystemTime};

use lettre::message::header::{HeaderName, HeaderValue, MessageId};
use lettre::message::{Mailbox, MultiPart, MultiPartKind, SinglePart};
use lettre::{Address, Message as Mail};
use vestry_domain::email::Email;
use vestry_domain::ids::JobId;
use vestry_domain::message::Message;

/// A mail that is ready to be sent.
pub(crate) struct Letter {
    /// Where bounces go.
    pub(crate) from: Address,
    /// Whom it is for. The domain is ASCII; the part before the `@` may not be.
    pub(crate) to: Address,
    /// Header and body, with CRLF line ends.
    pub(crate) bytes: Vec<u8>,
}

/// The message cannot be a mail.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unwritable {
    /// Not an address that mail can be sent to.
    #[error("the recipient is not an e-mail address")]
    Recipient,
    /// A control character in the subject: a line end would begin another header.
    #[error("the subject holds a control character")]
    Subject,
    /// The library refused a part.
    #[error("the mail cannot be assembled")]
    Assembly(#[source] lettre::error::Error),
}

impl Letter {
    /// Writes the mail of a job.
    ///
    /// The same job gives the same bytes, whenever it is written: the date is that of the job, and the boundary of its
    /// parts is made of the job's id.
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
            // RFC 3834: keeps vacation notices from answering.
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

/// The address as its owner wrote it, with the domain in ASCII.
///
/// The compared form is no help here: local parts that differ in case only can be two mailboxes, and mail must go to the one that
/// was written.
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

/// When the job was made; part of its id.
fn date(id: JobId) -> SystemTime {
    let seconds = u64::try_from(id.timestamp().unix()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// A bare carriage return is a line end to some servers and none to others; the library makes CRLF of line feeds only.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

#[cfg(test)]
mod tests;
