//! The mail to operators about an endpoint that fails or was disabled.

use super::{DisabledReason, Endpoint};
use crate::message::{Channel, Message, MessageKind, escape_html};

/// The trouble with an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// It has accepted nothing for a day.
    Failing,
    /// It was disabled.
    Disabled(DisabledReason),
}

/// The mail about an endpoint of an App. It names the host only, because many webhook URLs carry a secret in their path.
pub fn endpoint_notice(to: &str, app_name: &str, endpoint: &Endpoint, trouble: Trouble) -> Message {
    let (state, advice) = match trouble {
        Trouble::Failing => (
            "is failing: it has accepted no event for a day",
            "Deliveries are still retried. If the endpoint keeps failing, it can be disabled.",
        ),
        Trouble::Disabled(DisabledReason::Failing) => (
            "was disabled: it has accepted no event for days",
            "Waiting events are kept for 30 days. They are sent once you enable the endpoint.",
        ),
        Trouble::Disabled(DisabledReason::Gone) => (
            "was disabled: it responded with 410 Gone",
            "Waiting events are kept for 30 days. They are sent once you enable the endpoint.",
        ),
        Trouble::Disabled(DisabledReason::Operator) => (
            "was disabled by an operator",
            "Waiting events are kept for 30 days. They are sent once you enable the endpoint.",
        ),
    };
    let environment = endpoint.world.environment;
    let host = endpoint.url.url().host_str().unwrap_or_default().to_owned();
    let (app, id) = (endpoint.world.app_id, endpoint.id);
    let what = format!(
        "A webhook endpoint of {app_name} at {host} {state}. It receives events of the {environment} environment."
    );
    let command = format!("vestry webhook show {app} {id}");
    Message {
        channel: Channel::Email,
        kind: MessageKind::OperatorNotice,
        to: to.to_owned(),
        subject: match trouble {
            Trouble::Failing => format!("A webhook endpoint of {app_name} is failing"),
            Trouble::Disabled(_) => format!("A webhook endpoint of {app_name} was disabled"),
        },
        text: format!("{what}\n\n{advice} For details, run:\n{command}\n"),
        html: format!(
            "<p>{}</p><p>{advice} For details, run:<br><code>{command}</code></p>",
            escape_html(&what)
        ),
        code: String::new(),
        link: String::new(),
        token: String::new(),
    }
}
