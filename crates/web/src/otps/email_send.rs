//! `POST /v1/auth/otps/email/send`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::codes::SendCode;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, session_named};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::NotFound,
    Code::TooManyAttempts,
    Code::Sealed,
];

/// Who wants to sign in.
#[derive(Deserialize, ToSchema)]
#[schema(as = EmailOtpSendRequest)]
pub(crate) struct Request {
    /// Where the code goes; the address of a user.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ok@vestry.test")
    )]
    email: String,
    /// Minutes for which the code is good; 1 when absent.
    #[schema(minimum = 1, maximum = 10, examples(5))]
    expires_in: Option<i64>,
    /// When it is sent here, the App's setting says what of it the verify step must match.
    device_fingerprint: Option<Device>,
    /// A session of the user, who is signed in and adds the address: needed as long as it is not verified and the account is somebody's.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_token: Option<String>,
    /// The same, by one of its JWTs.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_jwt: Option<String>,
}

/// A code is on its way.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EmailOtpSendResponse)]
pub(crate) struct Answer {
    /// The `method_id` of the verify call.
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
}

/// Send a code, to a user
///
/// Sends a one-time passcode to an address that a user has; 404 when none has it. An address that was attached and is not verified
/// yet is proved within a session of its user: without `session_token` the answer is 403 `insufficient_factor`, unless the
/// App's setting `attached_identifiers` is `trusted`. With the setting `enumeration_safe`, nobody's address and such a one are
/// answered like somebody's. A new code takes the place of an earlier one.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/otps/email/send",
    operation_id = "sendEmailOtp",
    tag = "One-time passcodes",
    request_body = Request,
    responses((status = 200, description = "A code is on its way", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = SendCode {
        email: request.email,
        expires_in: request.expires_in,
        device_fingerprint: request.device_fingerprint.map(Device::check).transpose()?,
        session: session_named(request.session_token, request.session_jwt),
    };
    let sent = call
        .run(|service, caller| async move { service.send_code_by_email(&caller, command).await })
        .await?;
    Ok(Json(Answer {
        email_id: sent.email.id.to_string(),
        user_id: sent.email.user_id.to_string(),
    }))
}
