//! Mails that carry a link. Each says what it is for, how long it is good, and that nothing happens without it.

use super::{Channel, Message, MessageKind, escape_html};
use crate::timestamp::Seconds;

/// A link as it goes into a mail.
#[derive(Clone, Copy)]
pub struct MailedLink<'a> {
    /// The whole URL, the token included.
    pub url: &'a str,
    /// The token in it.
    pub token: &'a str,
    /// How long it is good.
    pub lifetime: Seconds,
}

/// A code that stands beside a link, for readers whose mail program spoils links or who read mail on another device.
#[derive(Clone, Copy)]
pub struct FallbackCode<'a> {
    /// The digits.
    pub digits: &'a str,
    /// How long it is good.
    pub lifetime: Seconds,
}

/// The mail that carries a link to sign in.
pub fn login_link_mail(
    app_name: &str,
    to: &str,
    link: MailedLink<'_>,
    code: FallbackCode<'_>,
) -> Message {
    let ignore = "If you did not ask for it, ignore this message; nobody can sign in without it.";
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

/// The mail that carries an invitation. It greets by the first name where that cannot be taken for anything else.
pub fn invite_mail(app_name: &str, to: &str, first_name: &str, link: MailedLink<'_>) -> Message {
    let ignore = "If you do not know why you get this message, ignore it.";
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
        subject: format!("You are invited to {app_name}"),
        text: format!(
            "{greeting}\n\nyou are invited to {app_name}. Open this link to accept:\n\n{}\n\n\
             It is valid for {life} and works once.\n{ignore}\n",
            link.url
        ),
        html: format!(
            "<p>{}</p><p>you are invited to {name}. Open this link to accept:</p>\
             <p><a href=\"{url}\">Accept the invitation</a></p>\
             <p>It is valid for {life} and works once.<br>{ignore}</p>",
            escape_html(&greeting)
        ),
        code: String::new(),
        link: link.url.to_owned(),
        token: link.token.to_owned(),
    }
}

/// The mail that carries a link to set a new password.
pub fn reset_mail(app_name: &str, to: &str, link: MailedLink<'_>) -> Message {
    let ignore = "If you did not ask for it, ignore this message; your password stays as it is.";
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

/// Whether a name is only a name. Whoever invites chooses it, and mail programs make links of whatever looks like an
/// address, so that an invitation could carry somebody else's words under our name.
fn is_plain_name(name: &str) -> bool {
    const LONGEST: usize = 40;
    let letters = |c: char| c.is_alphabetic() || matches!(c, ' ' | '-' | '\'' | '’');
    name.chars().count() <= LONGEST
        && name.chars().any(char::is_alphabetic)
        && name.chars().all(letters)
}

/// As a person says it: in days or hours where it comes out even, otherwise in minutes, rounded up.
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
