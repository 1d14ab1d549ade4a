//! Messages to end users, the outbox that holds them until delivery, and the captured messages of the test environment.

mod links;
mod trial;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::email::Email;
use crate::envelope::Sealed;
use crate::ids::{AppId, JobId, MessageId};
use crate::timestamp::Seconds;
use crate::token::TokenHash;
use crate::{Environment, Invalid, Timestamp, World};

pub use links::{FallbackCode, MailedLink, invite_mail, login_link_mail, reset_mail};
pub use trial::test_mail;

/// The channel of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// E-mail.
    Email,
    /// Text message.
    Sms,
}

impl Channel {
    /// Both channels.
    pub const ALL: [Self; 2] = [Self::Email, Self::Sms];

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
            _ => Err(Invalid::value("channel", "channel must be email or sms")),
        }
    }
}

/// The kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// A one-time passcode.
    Otp,
    /// A link that signs in.
    MagicLink,
    /// An invitation link.
    Invite,
    /// A link that sets a new password.
    PasswordReset,
    /// A notice to the owner of an address that a sign-in method was changed (S-6).
    SecurityNotice,
    /// A notice to the operators of an App, such as about a failing webhook endpoint (WH-11).
    OperatorNotice,
}

impl MessageKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Otp,
        Self::MagicLink,
        Self::Invite,
        Self::PasswordReset,
        Self::SecurityNotice,
        Self::OperatorNotice,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Otp => "otp",
            Self::MagicLink => "magic_link",
            Self::Invite => "invite",
            Self::PasswordReset => "password_reset",
            Self::SecurityNotice => "security_notice",
            Self::OperatorNotice => "operator_notice",
        }
    }
}

impl MessageKind {
    /// How urgent messages of this kind are.
    pub const fn priority(self) -> Priority {
        match self {
            Self::Otp | Self::MagicLink | Self::PasswordReset => Priority::SignIn,
            Self::SecurityNotice | Self::OperatorNotice => Priority::Notice,
            Self::Invite => Priority::Invite,
        }
    }
}

impl FromStr for MessageKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| {
                Invalid::value(
                    "kind",
                    "kind must be otp, magic_link, invite, password_reset, security_notice or operator_notice",
                )
            })
    }
}

/// A rendered message. Parts that do not apply are `""`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The channel.
    pub channel: Channel,
    /// The kind of message.
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

/// Only channel and kind: the rest consists of addresses and secrets.
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

/// The mail with a one-time passcode.
pub fn otp_mail(app_name: &str, to: &str, code: &str, lifetime: Seconds) -> Message {
    let minutes = (lifetime.0 + 59) / 60;
    let unit = if minutes == 1 { "minute" } else { "minutes" };
    let ignore =
        "If you did not request it, ignore this message. Without the code, no one can sign in.";
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

/// The text message with a one-time passcode.
pub fn otp_text(app_name: &str, to: &str, code: &str, lifetime: Seconds) -> Message {
    let minutes = (lifetime.0 + 59) / 60;
    let unit = if minutes == 1 { "minute" } else { "minutes" };
    Message {
        channel: Channel::Sms,
        kind: MessageKind::Otp,
        to: to.to_owned(),
        subject: String::new(),
        text: format!(
            "{code} is your {app_name} code. It is valid for {minutes} {unit}. Do not share it."
        ),
        html: String::new(),
        code: code.to_owned(),
        link: String::new(),
        token: String::new(),
    }
}

/// The mail that notifies the owner of an address of a change to the account (S-6). It contains no link: readers must not get used to
/// clicking in such mails.
pub fn security_notice(app_name: &str, to: &str, change: CredentialChange) -> Message {
    let what = change.sentence();
    let advice = "If this was not you, sign in and end all sessions, or contact us.";
    let name = escape_html(app_name);
    Message {
        channel: Channel::Email,
        kind: MessageKind::SecurityNotice,
        to: to.to_owned(),
        subject: format!("Your {app_name} account was changed"),
        text: format!("{what}\n\nThis concerns your {app_name} account. {advice}\n"),
        html: format!("<p>{what}</p><p>This concerns your {name} account. {advice}</p>"),
        code: String::new(),
        link: String::new(),
        token: String::new(),
    }
}

/// The mail that tells an owner of the deployment that the factors of an operator were removed.
pub fn operator_reset_notice(to: &str, operator: &str) -> Message {
    let what = format!("The sign-in methods of the operator {operator} were reset.");
    let advice = "If you do not know why, disable this operator and look into the audit log.";
    Message {
        channel: Channel::Email,
        kind: MessageKind::SecurityNotice,
        to: to.to_owned(),
        subject: "An operator of Vestry was reset".to_owned(),
        text: format!("{what}\n\n{advice}\n"),
        html: format!("<p>{}</p><p>{advice}</p>", escape_html(&what)),
        code: String::new(),
        link: String::new(),
        token: String::new(),
    }
}

/// A change to a user's sign-in methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CredentialChange {
    /// A password was set or changed.
    Password,
    /// An e-mail address was added.
    EmailAdded,
    /// An e-mail address was removed.
    EmailRemoved,
    /// A phone number was added.
    PhoneAdded,
    /// A phone number was removed.
    PhoneRemoved,
    /// An authenticator app was added.
    TotpAdded,
    /// An authenticator app was removed.
    TotpRemoved,
    /// A passkey was added.
    PasskeyAdded,
    /// A passkey was removed.
    PasskeyRemoved,
    /// A wallet for signing in was added.
    WalletAdded,
    /// A wallet for signing in was removed.
    WalletRemoved,
    /// A link to an identity provider was added.
    ProviderAdded,
    /// A link to an identity provider was removed.
    ProviderRemoved,
}

impl CredentialChange {
    const fn sentence(self) -> &'static str {
        match self {
            Self::Password => "Your password was changed.",
            Self::EmailAdded => "An e-mail address was added to your account.",
            Self::EmailRemoved => "An e-mail address was removed from your account.",
            Self::PhoneAdded => "A phone number was added to your account.",
            Self::PhoneRemoved => "A phone number was removed from your account.",
            Self::TotpAdded => "An authenticator app was added to your account.",
            Self::TotpRemoved => "An authenticator app was removed from your account.",
            Self::PasskeyAdded => "A passkey was added to your account.",
            Self::PasskeyRemoved => "A passkey was removed from your account.",
            Self::WalletAdded => "A wallet was added to your sign-in methods.",
            Self::WalletRemoved => "A wallet was removed from your sign-in methods.",
            Self::ProviderAdded => "A sign-in provider was linked to your account.",
            Self::ProviderRemoved => "A linked sign-in provider was removed from your account.",
        }
    }
}

/// How long delivery of a notice is attempted.
pub const NOTICE_LIFETIME: Seconds = Seconds(86_400);

/// Escapes text for HTML content and quoted attributes.
pub fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// The urgency of a message. The outbox prefers the lowest number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Codes and links: a user is waiting for them.
    SignIn,
    /// Notices about changes.
    Notice,
    /// Invitations, which an App may send by the thousand.
    Invite,
}

impl Priority {
    /// All priorities, most urgent first.
    pub const ALL: [Self; 3] = [Self::SignIn, Self::Notice, Self::Invite];

    /// The stored number.
    pub const fn number(self) -> u8 {
        match self {
            Self::SignIn => 0,
            Self::Notice => 1,
            Self::Invite => 2,
        }
    }

    /// The name that operators see.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SignIn => "sign_in",
            Self::Notice => "notice",
            Self::Invite => "invite",
        }
    }

    /// Reads a stored number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|priority| priority.number() == number)
    }
}

/// Number of lanes of the outbox.
pub const LANES: u8 = 64;

/// Returns the lane of an App. A claim takes jobs from several lanes, so that the messages of one App do not delay those of others.
pub fn lane_of(app: AppId) -> u8 {
    let [first, ..] = TokenHash::of(&app.to_string()).0;
    first % LANES
}

/// A queue of the outbox: the jobs that need the same transport. Those of test environments are captured and need none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutboxQueue {
    /// The environment.
    pub environment: Environment,
    /// The channel.
    pub channel: Channel,
}

impl OutboxQueue {
    /// All queues.
    pub const ALL: [Self; 4] = [
        Self::new(Environment::Live, Channel::Email),
        Self::new(Environment::Live, Channel::Sms),
        Self::new(Environment::Test, Channel::Email),
        Self::new(Environment::Test, Channel::Sms),
    ];

    /// The queue of a channel in an environment.
    pub const fn new(environment: Environment, channel: Channel) -> Self {
        Self {
            environment,
            channel,
        }
    }
}

/// A message waiting for delivery. It is written in the transaction that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxJob {
    /// The id; also the stable part of a mail's `Message-ID`, so that duplicates can be recognized.
    pub id: JobId,
    /// App and environment.
    pub world: World,
    /// The channel.
    pub channel: Channel,
    /// The urgency.
    pub priority: Priority,
    /// The encrypted [`Message`], as JSON; erased when the job ends.
    pub payload: Sealed,
    /// Earliest time of delivery.
    pub not_before: Timestamp,
    /// Latest time of delivery: a code that arrives late is worse than none.
    pub deliver_before: Timestamp,
    /// Number of delivery attempts.
    pub attempts: u32,
    /// Number of attempts that failed because of the job itself ([`JobFault`]).
    pub failures: u32,
    /// The id of the request that caused it, if one did (PR-2).
    pub cause: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
}

impl OutboxJob {
    /// The queue in which it waits.
    pub const fn queue(&self) -> OutboxQueue {
        OutboxQueue::new(self.world.environment, self.channel)
    }
}

/// The outcome of an outbox job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobEnd {
    /// The transport accepted the message.
    Delivered,
    /// The transport rejected it permanently.
    Refused,
    /// It was not delivered in time.
    Expired,
    /// It could not be handled ([`JobFault`]). Its payload is kept.
    Dead,
}

impl JobEnd {
    /// All ends.
    pub const ALL: [Self; 4] = [Self::Delivered, Self::Refused, Self::Expired, Self::Dead];

    /// The stored name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Refused => "refused",
            Self::Expired => "expired",
            Self::Dead => "dead",
        }
    }
}

/// How often a job may fail because of itself before it is dead.
pub const MAX_FAILURES: u32 = 3;

/// The reason that a job could not be handled, whatever its transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobFault {
    /// Its delivery panicked.
    Panicked,
    /// Its payload failed authentication.
    Tampered,
    /// Its payload could not be decoded.
    Unreadable,
}

impl JobFault {
    /// All reasons.
    pub const ALL: [Self; 3] = [Self::Panicked, Self::Tampered, Self::Unreadable];

    /// The stored name, which operators see.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Panicked => "panicked",
            Self::Tampered => "tampered",
            Self::Unreadable => "unreadable",
        }
    }
}

impl FromStr for JobFault {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|fault| fault.as_str() == text)
            .ok_or_else(|| {
                Invalid::value("fault", "fault must be panicked, tampered or unreadable")
            })
    }
}

/// A job that could not be handled, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadJob {
    /// The id.
    pub id: JobId,
    /// App and environment.
    pub world: World,
    /// The channel.
    pub channel: Channel,
    /// The urgency.
    pub priority: Priority,
    /// Number of delivery attempts.
    pub attempts: u32,
    /// The reason of the last failure.
    pub fault: JobFault,
    /// The id of the request that caused it, if one did.
    pub cause: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// Latest time of delivery.
    pub deliver_before: Timestamp,
    /// When it was set aside.
    pub died_at: Timestamp,
}

/// How long a worker can hold a job before another one may take it. Twice the time limit of a transport for one message, so that a slow
/// transport alone never makes two workers send.
pub const LEASE: Seconds = Seconds(60);

/// The maximum delay before attempt `attempts + 1`: one second, doubling, up to 30. The worker picks a uniformly random delay below it, so
/// that jobs that failed together are not retried together.
pub fn longest_wait(attempts: u32) -> Seconds {
    Seconds((1_i64 << attempts.min(5)).min(30))
}

/// A message that the test environment captured instead of sending.
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

/// The form of a recipient used for comparison: the identity of an address, or a number as it is.
pub fn compared_recipient(to: &str) -> String {
    Email::parse(to).map_or_else(
        |_number| to.to_owned(),
        |email| email.identity().as_str().to_owned(),
    )
}

#[cfg(test)]
mod tests;
