//! `POST /v1/auth/magic_links/email/invite`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::links::InviteByLink;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{Device, UserStatusName};

pub(crate) const ERRORS: &[Code] = &[
    Code::RedirectUrlMissing,
    Code::RedirectUrlNotAllowed,
    Code::NotFound,
    Code::TooManyAttempts,
    Code::Sealed,
];

/// The person to invite, and the redirect URL of the link.
#[derive(Deserialize, ToSchema)]
#[schema(as = MagicLinkInviteRequest)]
pub(crate) struct Request {
    /// E-mail address that the invitation is sent to, at most 254 characters.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ok@vestry.test")
    )]
    email: String,
    /// First name of a newly created user; ignored if the user exists.
    #[schema(max_length = 255, examples("Ada"))]
    first_name: Option<String>,
    /// Middle name of a newly created user; ignored if the user exists.
    #[schema(max_length = 255)]
    middle_name: Option<String>,
    /// Last name of a newly created user; ignored if the user exists.
    #[schema(max_length = 255, examples("Lovelace"))]
    last_name: Option<String>,
    /// URL that the link leads to; `?token=<token>` is appended. It must be a registered URL of kind `invite`. Defaults to the App's invite
    /// URL.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    invite_redirect_url: Option<String>,
    /// Minutes until the link expires. Default: 60.
    #[schema(minimum = 5, maximum = 10_080, examples(1440))]
    invite_expires_in: Option<i64>,
    /// The end user's device. If sent, the App's settings decide which parts of it the verify call must match.
    device_fingerprint: Option<Device>,
}

/// The invitation that was sent.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MagicLinkInviteResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    #[schema(value_type = UserStatusName)]
    status: &'static str,
    /// Whether this call created the user.
    user_created: bool,
    /// Id of the e-mail address.
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
}

/// Invite a user by e-mail
///
/// Mails a link that signs the person in. If no user has the address, a `pending` user with the given names is created. A new invitation
/// replaces an earlier one.
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
    responses((status = 200, description = "The invitation was sent", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
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
    Ok(Json(Response {
        user_id: sent.user_id.to_string(),
        status: sent.status.as_str(),
        user_created: sent.user_created,
        email_id: sent.email_id.to_string(),
    }))
}
