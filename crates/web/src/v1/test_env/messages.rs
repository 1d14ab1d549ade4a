//! `GET /v1/test/messages`

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vestry_app::delivery::test_messages::FindMessages;
use vestry_domain::message::CapturedMessage;
use vestry_edge::{Call, Code, Json, Problem, Query};

use crate::v1::shapes::optional_id;

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::NotFound];

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Recipient of the messages, in any spelling of the address. A `+` need not be escaped.
    #[param(nullable = false)]
    to: Option<String>,
    /// Kind of the messages: `otp`, `magic_link`, `invite`, `password_reset` or `security_notice`.
    #[param(
        pattern = "^(otp|magic_link|invite|password_reset|security_notice)$",
        nullable = false
    )]
    kind: Option<String>,
    /// Id of a message; only newer messages are returned.
    #[param(pattern = "^msg_[0-9A-Za-z]{27}$", nullable = false)]
    after: Option<String>,
    /// Seconds to wait for a matching message.
    #[param(minimum = 0, maximum = 30, default = 0, nullable = false)]
    wait: Option<u64>,
}

/// Messages captured in the test environment.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TestMessagesResponse)]
pub(crate) struct Response {
    /// Captured messages, newest first.
    #[schema(max_items = 100)]
    messages: Vec<Message>,
}

/// A message that was captured instead of being sent.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TestMessage)]
pub(crate) struct Message {
    /// Id of the message.
    #[schema(pattern = "^msg_[0-9A-Za-z]{27}$")]
    id: String,
    /// Delivery channel: `email` or `sms`.
    #[schema(pattern = "^(email|sms)$")]
    channel: &'static str,
    /// Purpose of the message: `otp`, `magic_link`, `invite`, `password_reset` or `security_notice`.
    #[schema(pattern = "^(otp|magic_link|invite|password_reset|security_notice)$")]
    kind: &'static str,
    /// E-mail address or phone number of the recipient.
    to: String,
    /// Subject line; `""` for SMS.
    subject: String,
    /// Body as plain text.
    text: String,
    /// Body as HTML; `""` for SMS.
    html: String,
    /// The code in the message; `""` if there is none.
    code: String,
    /// The link in the message; `""` if there is none.
    link: String,
    /// The token in the link; `""` if there is none.
    token: String,
    /// When the message was captured, in Unix seconds.
    created_at: i64,
}

/// List captured messages
///
/// In the test environment, e-mail and SMS are captured instead of being sent.
///
/// With `wait`, the call returns as soon as there is a matching message. Fifty calls per App can wait at the same time; further calls
/// return after one second. With a live key this endpoint does not exist.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    get,
    path = "/v1/test/messages",
    operation_id = "listTestMessages",
    tag = "Test environment",
    params(Filter),
    responses((status = 200, description = "Messages, newest first", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Query(filter): Query<Filter>,
) -> Result<Json<Response>, Problem> {
    let query = FindMessages {
        // An unescaped plus sign decodes to a space in a query, and no address or number contains a space.
        to: filter.to.map(|to| to.replace(' ', "+")),
        kind: filter.kind,
        after: optional_id("after", filter.after)?,
        wait: filter.wait,
    };
    let captured = call
        .wait(|service, caller| async move { service.captured_messages(&caller, query).await })
        .await?;
    let messages = captured.into_iter().map(Message::from).collect();
    Ok(Json(Response { messages }))
}

impl From<CapturedMessage> for Message {
    fn from(captured: CapturedMessage) -> Self {
        let message = captured.message;
        Self {
            id: captured.id.to_string(),
            channel: message.channel.as_str(),
            kind: message.kind.as_str(),
            to: message.to,
            subject: message.subject,
            text: message.text,
            html: message.html,
            code: message.code,
            link: message.link,
            token: message.token,
            created_at: captured.created_at.unix(),
        }
    }
}
