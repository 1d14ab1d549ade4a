//! `GET /v1/test/messages`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vestry_app::test_env::FindMessages;
use vestry_domain::message::CapturedMessage;

use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::shapes::parse_id;

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::NotFound];

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Messages to this recipient, in any spelling of the address. A `+` in it need not be escaped.
    #[param(nullable = false)]
    to: Option<String>,
    /// Exactly this kind: `otp`, `magic_link`, `invite`, `password_reset` or `security_notice`.
    #[param(
        pattern = "^(otp|magic_link|invite|password_reset|security_notice)$",
        nullable = false
    )]
    kind: Option<String>,
    /// Only messages newer than this one.
    #[param(pattern = "^msg_[0-9A-Za-z]{27}$", nullable = false)]
    after: Option<String>,
    /// Seconds to wait until there is a message that fits.
    #[param(minimum = 0, maximum = 30, default = 0, nullable = false)]
    wait: Option<u64>,
}

/// Captured messages.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TestMessagesResponse)]
pub(crate) struct Answer {
    /// Newest first.
    #[schema(max_items = 100)]
    messages: Vec<Message>,
}

/// A message that was kept instead of sent.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TestMessage)]
pub(crate) struct Message {
    #[schema(pattern = "^msg_[0-9A-Za-z]{27}$")]
    id: String,
    /// `email` or `sms`.
    #[schema(pattern = "^(email|sms)$")]
    channel: &'static str,
    /// Why it was sent: `otp`, `magic_link`, `invite`, `password_reset` or `security_notice`.
    #[schema(pattern = "^(otp|magic_link|invite|password_reset|security_notice)$")]
    kind: &'static str,
    /// Address or number.
    to: String,
    /// `""` for text messages.
    subject: String,
    /// Plain text.
    text: String,
    /// `""` for text messages.
    html: String,
    /// The code in it; `""` when there is none.
    code: String,
    /// The link in it; `""` when there is none.
    link: String,
    /// The token in the link; `""` when there is none.
    token: String,
    /// Unix seconds.
    created_at: i64,
}

/// Read captured messages
///
/// Mail and text messages of the test environment are kept here instead of being sent. With `wait` the call answers as
/// soon as there is a message that fits. Fifty calls of an App can wait at the same time; one more returns after a
/// second. With a live key this path does not exist.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    get,
    path = "/v1/test/messages",
    operation_id = "listTestMessages",
    tag = "Test environment",
    params(Filter),
    responses((status = 200, description = "Messages, newest first", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Query(filter): Query<Filter>,
) -> Result<Json<Answer>, Problem> {
    let query = FindMessages {
        // A plus sign that was not escaped reads as a blank in a query, and no address or number has a blank.
        to: filter.to.map(|to| to.replace(' ', "+")),
        kind: filter.kind,
        after: filter.after.map(|id| parse_id("after", &id)).transpose()?,
        wait: filter.wait,
    };
    let captured = call
        .wait(|service, caller| async move { service.captured_messages(&caller, query).await })
        .await?;
    let messages = captured.into_iter().map(Message::from).collect();
    Ok(Json(Answer { messages }))
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
