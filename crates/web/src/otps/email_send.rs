//! `POST /v1/auth/otps/email/send`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::codes::SendCode;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::Device;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::TooManyAttempts, Code::Sealed];

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
/// Sends a one-time passcode to an address that a user has; 404 when none has it, unless the App's setting
/// `enumeration_safe` is on: then nobody's address is answered like somebody's. A new code takes the place of an earlier one.
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
    };
    let sent = call
        .run(|service, caller| async move { service.send_code_by_email(&caller, command).await })
        .await?;
    Ok(Json(Answer {
        email_id: sent.email.id.to_string(),
        user_id: sent.email.user_id.to_string(),
    }))
}
