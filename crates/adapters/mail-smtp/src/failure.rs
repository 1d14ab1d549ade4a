//! Errors of an SMTP conversation, without any text of the server.

use std::error::Error;
use std::fmt;
use std::io;

use lettre::transport::smtp;
use vestry_ports::mailer::SendError;

/// A step of the conversation, as named in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Connection, greeting and EHLO.
    Connect,
    /// STARTTLS and the handshake.
    Tls,
    /// AUTH.
    Login,
    /// NOOP.
    Noop,
    /// MAIL FROM.
    Sender,
    /// RCPT TO.
    Recipient,
    /// DATA.
    Data,
    /// The content, up to the reply to its final dot.
    Content,
    /// The whole attempt, when it takes too long.
    Whole,
}

impl Step {
    /// Whether the step concerns the mail and not only the connection.
    const fn is_about_the_mail(self) -> bool {
        matches!(
            self,
            Self::Sender | Self::Recipient | Self::Data | Self::Content
        )
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "the connection",
            Self::Tls => "STARTTLS",
            Self::Login => "AUTH",
            Self::Noop => "NOOP",
            Self::Sender => "MAIL",
            Self::Recipient => "RCPT",
            Self::Data => "DATA",
            Self::Content => "the content",
            Self::Whole => "the whole mail",
        })
    }
}

/// Why a conversation ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A negative reply.
    #[error("the SMTP server replied {reply} to {step}")]
    Refused { step: Step, reply: Reply },
    /// A timeout.
    #[error("SMTP timeout: {step}")]
    Late { step: Step },
    /// No connection.
    #[error("the SMTP server cannot be reached")]
    Unreachable(#[source] io::Error),
    /// The connection or its TLS broke.
    #[error("the connection to the SMTP server was lost during {step}")]
    Broken {
        step: Step,
        #[source]
        cause: smtp::Error,
    },
    /// A reply that is malformed, or not valid for this step.
    #[error("the SMTP server sent an invalid reply to {step}")]
    Nonsense { step: Step },
    /// STARTTLS is not offered: a wrong port, or an attacker on the network path.
    #[error("the SMTP server does not offer STARTTLS; nothing was sent")]
    NoStartTls,
    /// Without TLS, and the address is not on this machine.
    #[error("connections without TLS are allowed only to this machine")]
    NotThisMachine,
    /// A login is configured and the server offers no supported mechanism (PLAIN, LOGIN).
    #[error("the SMTP server offers no supported login mechanism (PLAIN, LOGIN)")]
    NoLogin,
    /// The local part of the recipient is not ASCII and the server does not support that (RFC 6531).
    #[error("the SMTP server does not support non-ASCII addresses")]
    NoInternationalAddresses,
}

impl Failure {
    /// Classifies an error of the library. Only those without text of the server are kept as the cause.
    pub(crate) fn at(step: Step, cause: smtp::Error) -> Self {
        if let Some(reply) = Reply::of(&cause) {
            Self::Refused { step, reply }
        } else if cause.is_response() || cause.is_client() {
            Self::Nonsense { step }
        } else {
            Self::Broken { step, cause }
        }
    }

    /// Whether retrying is useless.
    fn is_permanent(&self) -> bool {
        match self {
            Self::Refused { step, reply } => step.is_about_the_mail() && reply.code >= 500,
            Self::NoInternationalAddresses => true,
            Self::Late { .. }
            | Self::Unreachable(_)
            | Self::Broken { .. }
            | Self::Nonsense { .. }
            | Self::NoStartTls
            | Self::NotThisMachine
            | Self::NoLogin => false,
        }
    }
}

impl Failure {
    /// Whether only the recipient must wait. With 421 the server closes the connection, whatever it replies to (RFC 5321, section 3.8).
    fn is_postponement(&self) -> bool {
        match self {
            Self::Refused { step, reply } => *step == Step::Recipient && reply.code != 421,
            _ => false,
        }
    }
}

impl From<Failure> for SendError {
    fn from(failure: Failure) -> Self {
        if failure.is_permanent() {
            Self::Permanent(Box::new(failure))
        } else if failure.is_postponement() {
            Self::Postponed(Box::new(failure))
        } else {
            Self::Transient(Box::new(failure))
        }
    }
}

/// The parts of a negative reply that may be repeated: its numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    /// Reply code (RFC 5321, section 4.2), 400 to 599.
    pub(crate) code: u16,
    /// Enhanced status code (RFC 3463), such as `5.1.1`.
    pub(crate) status: Option<String>,
}

impl Reply {
    fn of(error: &smtp::Error) -> Option<Self> {
        let code = u16::from(error.status()?);
        let text = error.source().map(ToString::to_string).unwrap_or_default();
        Some(Self {
            code,
            status: enhanced_status(&text),
        })
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        match &self.status {
            Some(status) => write!(f, " {status}"),
            None => Ok(()),
        }
    }
}

/// Returns the first word of the text if it is three numbers of at most three digits.
fn enhanced_status(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?;
    let is_number =
        |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    let mut parts = word.split('.');
    let three = parts
        .by_ref()
        .take(3)
        .filter(|part| is_number(part))
        .count()
        == 3;
    (three && parts.next().is_none()).then(|| word.to_owned())
}

#[cfg(test)]
mod tests;
