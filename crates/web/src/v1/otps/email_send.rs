//! `POST /v1/auth/otps/email/send`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::codes::SendCode;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{Device, session_named};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::NotFound,
    Code::TooManyAttempts,
    Code::Sealed,
];

/// The address to send a code to.
#[derive(Deserialize, ToSchema)]
#[schema(as = EmailOtpSendRequest)]
pub(crate) struct Request {
    /// E-mail address that the code is sent to, at most 254 characters. It must belong to a user.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ok@vestry.test")
    )]
    email: String,
    /// Minutes until the code expires. Default: 1.
    #[schema(minimum = 1, maximum = 10, examples(5))]
    expires_in: Option<i64>,
    /// The end user's device. If sent, the App's settings decide which parts of it the verify call must match.
    device_fingerprint: Option<Device>,
    /// Token of a session of the user. Required while the address is unverified and the account has an owner.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_token: Option<String>,
    /// A JWT of that session, as an alternative to `session_token`.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_jwt: Option<String>,
}

/// The code that was sent.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EmailOtpSendResponse)]
pub(crate) struct Response {
    /// Id of the address; send it as `method_id` to the verify call.
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
}

/// Send a code to an existing user
///
/// Sends a one-time passcode to an e-mail address of a user; 404 if no user has it. A new code replaces an earlier one.
///
/// An attached address is verified within a session of its user. Without `session_token` the call returns 403 `insufficient_factor`, unless
/// the App's setting `attached_identifiers` is `trusted`.
///
/// With `enumeration_safe`, unknown and unverified addresses get the same response as known ones.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/otps/email/send",
    operation_id = "sendEmailOtp",
    tag = "One-time passcodes",
    request_body = Request,
    responses((status = 200, description = "The code was sent", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = SendCode {
        email: request.email,
        expires_in: request.expires_in,
        device_fingerprint: request.device_fingerprint.map(Device::check).transpose()?,
        session: session_named(request.session_token, request.session_jwt),
    };
    let sent = call
        .run(|service, caller| async move { service.send_code_by_email(&caller, command).await })
        .await?;
    Ok(Json(Response {
        email_id: sent.email.id.to_string(),
        user_id: sent.email.user_id.to_string(),
    }))
}
