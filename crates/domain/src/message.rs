//! Messages to end users, the outbox they wait in, and the captured ones of the test environment.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::envelope::Sealed;
use crate::ids::{EventId, MessageId};
use crate::timestamp::Seconds;
use crate::{Invalid, Timestamp, World};

/// How a message travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// E-mail.
    Email,
    /// Text message.
    Sms,
}

impl Channel {
    /// `email` or `sms`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Sms => "sms",
        }
    }
}

impl FromStr for Channel {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "email" => Ok(Self::Email),
            "sms" => Ok(Self::Sms),
            _ => Err(Invalid::value("channel", "channel is email or sms")),
        }
    }
}

/// Why a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// A one-time passcode.
    Otp,
}

impl MessageKind {
    /// `otp`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Otp => "otp",
        }
    }
}

impl FromStr for MessageKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "otp" => Ok(Self::Otp),
            _ => Err(Invalid::value("kind", "kind is otp")),
        }
    }
}

/// A finished message. `""` where a part does not apply.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// How it travels.
    pub channel: Channel,
    /// Why it is sent.
    pub kind: MessageKind,
    /// The address or number, as its owner wrote it.
    pub to: String,
    /// Subject of a mail.
    pub subject: String,
    /// Plain text.
    pub text: String,
    /// HTML part of a mail.
    pub html: String,
    /// The code in it.
    pub code: String,
    /// The link in it.
    pub link: String,
    /// The token inside the link.
    pub token: String,
}

/// Only channel and kind: the rest is an address book and secrets.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Message({}, {})",
            self.channel.as_str(),
            self.kind.as_str()
        )
    }
}

impl zeroize::Zeroize for Message {
    fn zeroize(&mut self) {
        for part in [
            &mut self.to,
            &mut self.subject,
            &mut self.text,
            &mut self.html,
            &mut self.code,
            &mut self.link,
            &mut self.token,
        ] {
            part.zeroize();
        }
    }
}

/// The mail that carries a one-time passcode.
pub fn otp_mail(app_name: &str, to: &str, code: &str, lifetime: Seconds) -> Message {
    let minutes = (lifetime.0 + 59) / 60;
    let unit = if minutes == 1 { "minute" } else { "minutes" };
    let ignore =
        "If you did not ask for it, ignore this message; nobody can sign in without the code.";
    let name = escape_html(app_name);
    Message {
        channel: Channel::Email,
        kind: MessageKind::Otp,
        to: to.to_owned(),
        subject: format!("{code} is your {app_name} code"),
        text: format!(
            "Your {app_name} code is {code}\n\nIt is valid for {minutes} {unit} and works once.\n{ignore}\n"
        ),
        html: format!(
            "<p>Your {name} code is</p><p style=\"font-size:2em;letter-spacing:.2em\"><b>{code}</b></p>\
             <p>It is valid for {minutes} {unit} and works once.<br>{ignore}</p>"
        ),
        code: code.to_owned(),
        link: String::new(),
        token: String::new(),
    }
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// A message that waits for delivery. It is written in the transaction of what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxJob {
    /// The id; also the stable part of a mail's `Message-ID`, so that a duplicate can be recognized.
    pub id: EventId,
    /// App and environment.
    pub world: World,
    /// How it will travel.
    pub channel: Channel,
    /// The sealed [`Message`], JSON; wiped when the job ends.
    pub payload: Sealed,
    /// Not before this moment.
    pub not_before: Timestamp,
    /// Useless from this moment on: a code that arrives late is worse than none.
    pub deliver_before: Timestamp,
    /// How often delivery was tried.
    pub attempts: u32,
    /// When it was made.
    pub created_at: Timestamp,
}

/// How a job of the outbox ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobEnd {
    /// The transport took the message.
    Delivered,
    /// The transport refused it for good.
    Refused,
    /// Its time ran out.
    Expired,
}

impl JobEnd {
    /// As stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Refused => "refused",
            Self::Expired => "expired",
        }
    }
}

/// How long a worker may hold a job before another one may take it: twice as long as a transport may take over one
/// message, so that a slow transport alone never makes two workers send.
pub const LEASE: Seconds = Seconds(60);

/// The longest wait before try number `attempts + 1`: one second, doubling, at most 30. The worker draws
/// uniformly below it, so that a thousand jobs that failed together do not come back together.
pub fn longest_wait(attempts: u32) -> Seconds {
    Seconds((1_i64 << attempts.min(5)).min(30))
}

/// A message that the test environment kept instead of sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedMessage {
    /// The id; sorts by time.
    pub id: MessageId,
    /// App and environment.
    pub world: World,
    /// The message.
    pub message: Message,
    /// When it was captured.
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests;
