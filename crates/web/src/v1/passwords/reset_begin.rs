//! `POST /v1/auth/passwords/reset/begin`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::passwords::BeginReset;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{Device, session_named};

pub(crate) const ERRORS: &[Code] = &[
    Code::RedirectUrlMissing,
    Code::RedirectUrlNotAllowed,
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::NotFound,
    Code::TooManyAttempts,
    Code::Sealed,
];

/// The address to send a reset link to.
#[derive(Deserialize, ToSchema)]
#[schema(as = PasswordResetBeginRequest)]
pub(crate) struct Request {
    /// E-mail address that the link is sent to, at most 254 characters. It must belong to a user.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ok@vestry.test")
    )]
    email: String,
    /// URL that the link leads to, to which `token` is appended. It must be a login URL of the App; defaults to the App's login URL.
    #[schema(max_length = 2048)]
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    reset_redirect_url: Option<String>,
    /// Minutes until the link expires. Default: 60.
    #[schema(minimum = 5, maximum = 1_440, examples(60))]
    expires_in: Option<i64>,
    /// The end user's device. If sent, the App's settings decide which parts of it the second call must match.
    device_fingerprint: Option<Device>,
    /// Token of a session of the user. Required while the address is unverified and the account has an owner.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_token: Option<String>,
    /// A JWT of that session, as an alternative to `session_token`.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_jwt: Option<String>,
}

/// The link that was sent.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PasswordResetBeginResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Id of the e-mail address.
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
}

/// Send a password reset link
///
/// Nothing changes until the link is used. A new link replaces an earlier one. Returns 404 if no user has the address.
///
/// For an attached, unverified address the call returns 403 `insufficient_factor` without a `session_token` of its user, unless the App's
/// setting `attached_identifiers` is `trusted`.
///
/// With `enumeration_safe`, unknown and unverified addresses get the same response as known ones.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/passwords/reset/begin",
    operation_id = "beginPasswordReset",
    tag = "Passwords",
    request_body = Request,
    responses((status = 200, description = "The link was sent", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = BeginReset {
        email: request.email,
        reset_redirect_url: request.reset_redirect_url,
        expires_in: request.expires_in,
        device_fingerprint: request.device_fingerprint.map(Device::check).transpose()?,
        session: session_named(request.session_token, request.session_jwt),
    };
    let begun = call
        .run(|service, caller| async move { service.begin_reset(&caller, command).await })
        .await?;
    Ok(Json(Response {
        user_id: begun.user_id.to_string(),
        email_id: begun.email_id.to_string(),
    }))
}
