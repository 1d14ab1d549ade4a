//! The mail with which an operator tries the transport out. It contains no code and no link.

use super::{Channel, Message, MessageKind, escape_html};
use crate::Environment;

/// The test message to an operator of an App.
pub fn test_mail(to: &str, app_name: &str, environment: Environment) -> Message {
    let sentence = format!(
        "This is a test message. You requested it in the console, for the {environment} environment of {app_name}."
    );
    let end = "It contains no code and no link. You need not do anything.";
    Message {
        channel: Channel::Email,
        kind: MessageKind::OperatorNotice,
        to: to.to_owned(),
        subject: format!("Vestry test message for {app_name}"),
        text: format!("{sentence}\n\n{end}\n"),
        html: format!("<p>{}</p><p>{end}</p>", escape_html(&sentence)),
        code: String::new(),
        link: String::new(),
        token: String::new(),
    }
}
