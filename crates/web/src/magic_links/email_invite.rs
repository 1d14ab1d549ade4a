//! `POST /v1/auth/magic_links/email/invite`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::links::InviteByLink;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, UserStatusName};

pub(crate) const ERRORS: &[Code] = &[
    Code::RedirectUrlMissing,
    Code::RedirectUrlNotAllowed,
    Code::NotFound,
    Code::TooManyAttempts,
    Code::Sealed,
];

/// Who is invited, and where the link shall lead.
#[derive(Deserialize, ToSchema)]
#[schema(as = MagicLinkInviteRequest)]
pub(crate) struct Request {
    /// Where the invitation goes.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ok@vestry.test")
    )]
    email: String,
    /// Name of a user that this call creates; an existing user keeps its own.
    #[schema(max_length = 255, examples("Ada"))]
    first_name: Option<String>,
    /// See `first_name`.
    #[schema(max_length = 255)]
    middle_name: Option<String>,
    /// See `first_name`.
    #[schema(max_length = 255, examples("Lovelace"))]
    last_name: Option<String>,
    /// Where the link leads; `?token=<token>` is appended. A registered URL of the kind `invite`; the App's default when
    /// absent.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    invite_redirect_url: Option<String>,
    /// Minutes for which the link is good; 60 when absent.
    #[schema(minimum = 5, maximum = 10_080, examples(1440))]
    invite_expires_in: Option<i64>,
    /// When it is sent here, the App's setting says what of it the verify step must match.
    device_fingerprint: Option<Device>,
}

/// An invitation is on its way.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MagicLinkInviteResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    #[schema(value_type = UserStatusName)]
    status: &'static str,
    /// Whether this call created the user.
    user_created: bool,
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
}

/// Invite somebody by mail
///
/// Creates a user for an address when there is none, `pending` and with the names given, and mails a link that signs it in. A new
/// invitation takes the place of an earlier one.
///
/// Magic links are deprecated: prefer one-time passcodes or passkeys in new applications.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/magic_links/email/invite",
    operation_id = "inviteByMagicLink",
    tag = "Magic links",
    request_body = Request,
    responses((status = 200, description = "An invitation is on its way", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = InviteByLink {
        email: request.email,
        first_name: request.first_name,
        middle_name: request.middle_name,
        last_name: request.last_name,
        invite_redirect_url: request.invite_redirect_url,
        invite_expires_in: request.invite_expires_in,
        device_fingerprint: request.device_fingerprint.map(Device::check).transpose()?,
    };
    let sent = call
        .run(|service, caller| async move { service.invite_by_link(&caller, command).await })
        .await?;
    Ok(Json(Answer {
        user_id: sent.user_id.to_string(),
        status: sent.status.as_str(),
        user_created: sent.user_created,
        email_id: sent.email_id.to_string(),
    }))
}
