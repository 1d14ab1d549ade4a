//! Mails with a link. Each says what the link is for, how long it is valid, and that the recipient can ignore it.

use super::{Channel, Message, MessageKind, escape_html};
use crate::timestamp::Seconds;

/// A link for a mail.
#[derive(Clone, Copy)]
pub struct MailedLink<'a> {
    /// The whole URL, including the token.
    pub url: &'a str,
    /// The token in it.
    pub token: &'a str,
    /// How long it is valid.
    pub lifetime: Seconds,
}

/// A code in the same mail as a link, for readers whose mail program breaks links or who read mail on another device.
#[derive(Clone, Copy)]
pub struct FallbackCode<'a> {
    /// The digits.
    pub digits: &'a str,
    /// How long it is valid.
    pub lifetime: Seconds,
}

/// The mail with a sign-in link.
pub fn login_link_mail(
    app_name: &str,
    to: &str,
    link: MailedLink<'_>,
    code: FallbackCode<'_>,
) -> Message {
    let ignore = "If you did not request it, ignore this message. Without it, no one can sign in.";
    let (name, url) = (escape_html(app_name), escape_html(link.url));
    let (link_life, code_life) = (duration(link.lifetime), duration(code.lifetime));
    let digits = code.digits;
    Message {
        channel: Channel::Email,
        kind: MessageKind::MagicLink,
        to: to.to_owned(),
        subject: format!("Sign in to {app_name}"),
        text: format!(
            "Open this link to sign in to {app_name}:\n\n{}\n\nIt is valid for {link_life} and works once.\n\n\
             If the link does not work, enter this code instead: {digits}\nThe code is valid for {code_life}.\n\n{ignore}\n",
            link.url
        ),
        html: format!(
            "<p>Open this link to sign in to {name}:</p><p><a href=\"{url}\">Sign in to {name}</a></p>\
             <p>It is valid for {link_life} and works once.</p><p>If the link does not work, enter this code instead:</p>\
             <p style=\"font-size:2em;letter-spacing:.2em\"><b>{digits}</b></p>\
             <p>The code is valid for {code_life}.<br>{ignore}</p>"
        ),
        code: digits.to_owned(),
        link: link.url.to_owned(),
        token: link.token.to_owned(),
    }
}

/// The mail with an invitation. It addresses the recipient by first name if the name cannot be mistaken for anything else.
pub fn invite_mail(app_name: &str, to: &str, first_name: &str, link: MailedLink<'_>) -> Message {
    let ignore = "If you were not expecting this invitation, ignore this message.";
    let greeting = if is_plain_name(first_name) {
        format!("Hello {first_name},")
    } else {
        "Hello,".to_owned()
    };
    let (name, url) = (escape_html(app_name), escape_html(link.url));
    let life = duration(link.lifetime);
    Message {
        channel: Channel::Email,
        kind: MessageKind::Invite,
        to: to.to_owned(),
        subject: format!("You have been invited to {app_name}"),
        text: format!(
            "{greeting}\n\nYou have been invited to {app_name}. Open this link to accept:\n\n{}\n\n\
             It is valid for {life} and works once.\n{ignore}\n",
            link.url
        ),
        html: format!(
            "<p>{}</p><p>You have been invited to {name}. Open this link to accept:</p>\
             <p><a href=\"{url}\">Accept the invitation</a></p>\
             <p>It is valid for {life} and works once.<br>{ignore}</p>",
            escape_html(&greeting)
        ),
        code: String::new(),
        link: link.url.to_owned(),
        token: link.token.to_owned(),
    }
}

/// The mail with a password reset link.
pub fn reset_mail(app_name: &str, to: &str, link: MailedLink<'_>) -> Message {
    let ignore = "If you did not request it, ignore this message. Your password stays unchanged.";
    let (name, url) = (escape_html(app_name), escape_html(link.url));
    let life = duration(link.lifetime);
    Message {
        channel: Channel::Email,
        kind: MessageKind::PasswordReset,
        to: to.to_owned(),
        subject: format!("Set a new {app_name} password"),
        text: format!(
            "Open this link to set a new password for {app_name}:\n\n{}\n\nIt is valid for {life} and works once.\n{ignore}\n",
            link.url
        ),
        html: format!(
            "<p>Open this link to set a new password for {name}:</p><p><a href=\"{url}\">Set a new password</a></p>\
             <p>It is valid for {life} and works once.<br>{ignore}</p>"
        ),
        code: String::new(),
        link: link.url.to_owned(),
        token: link.token.to_owned(),
    }
}

/// Whether a name is plain enough to appear in an invitation. The inviting party chooses it, and mail programs turn anything that looks
/// like an address into a link. An invitation could otherwise carry someone else's message under our name.
fn is_plain_name(name: &str) -> bool {
    const MAX_LENGTH: usize = 40;
    let letters = |c: char| c.is_alphabetic() || matches!(c, ' ' | '-' | '\'' | '’');
    name.chars().count() <= MAX_LENGTH
        && name.chars().any(char::is_alphabetic)
        && name.chars().all(letters)
}

/// The duration in words: in days or hours if it is a whole number of them, otherwise in minutes, rounded up.
fn duration(lifetime: Seconds) -> String {
    const HOUR: i64 = 60;
    const DAY: i64 = 24 * HOUR;
    let minutes = (lifetime.0 + 59) / 60;
    let (count, unit) = match minutes {
        minutes if minutes >= 2 * DAY && minutes % DAY == 0 => (minutes / DAY, "day"),
        minutes if minutes >= 2 * HOUR && minutes % HOUR == 0 => (minutes / HOUR, "hour"),
        minutes => (minutes, "minute"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

#[cfg(test)]
mod tests;
