//! `POST /v1/auth/magic_links/create`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::links::CreateLink;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{Device, optional_id, session_named};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::NotFound,
];

/// The recipient of the link: `user_id`, `email` or both.
#[derive(Deserialize, ToSchema)]
#[schema(as = MagicLinkCreateRequest)]
pub(crate) struct Request {
    /// Id of the user. Without `email`, the link verifies the user's first verified address, or the first address if none is verified.
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    user_id: Option<String>,
    /// E-mail address that the link verifies, at most 254 characters. It must belong to a user.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ok@vestry.test")
    )]
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    email: Option<String>,
    /// Minutes until the link expires. Default: 60.
    #[schema(minimum = 5, maximum = 10_080, examples(15))]
    expires_in: Option<i64>,
    /// The device that requests the link. The App's settings decide which parts of it the verify call must match. A session returned by
    /// `login_status` carries it.
    device_fingerprint: Option<Device>,
    /// Token of a session of the user. Required while the address is unverified and the account has an owner.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_token: Option<String>,
    /// A JWT of that session, as an alternative to `session_token`.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_jwt: Option<String>,
}

/// A link that was created but not mailed.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MagicLinkCreateResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Id of the e-mail address.
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
    /// Token for `magic_links/verify`. Deliver it to the address and nowhere else: it proves that its bearer reads mail there.
    #[schema(pattern = "^[0-9A-Za-z]{48}$")]
    token: String,
    /// Token for `magic_links/email/login_status`. Keep it in the browser that requested the link, and never put it in the mail.
    #[schema(pattern = "^[0-9A-Za-z]{128}$")]
    request_origin_token: String,
}

/// Create a link without mailing it
///
/// For Apps that send their own mail: put the token into a URL of your own and mail it to the user's address. A new link replaces an
/// earlier one.
///
/// An attached address is verified within a session of its user. Without `session_token` the call returns 403 `insufficient_factor`, unless
/// the App's setting `attached_identifiers` is `trusted`.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/magic_links/create",
    operation_id = "createMagicLink",
    tag = "Magic links",
    request_body = Request,
    responses((status = 200, description = "The link was created", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = CreateLink {
        user_id: optional_id("user_id", request.user_id)?,
        email: request.email,
        expires_in: request.expires_in,
        device_fingerprint: request.device_fingerprint.map(Device::check).transpose()?,
        session: session_named(request.session_token, request.session_jwt),
    };
    let made = call
        .run(|service, caller| async move { service.create_link(&caller, command).await })
        .await?;
    Ok(Json(Response {
        user_id: made.email.user_id.to_string(),
        email_id: made.email.id.to_string(),
        token: made.token.expose().clone(),
        request_origin_token: made.origin_token.expose().clone(),
    }))
}
