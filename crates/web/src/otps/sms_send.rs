//! `POST /v1/auth/otps/sms/send`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::codes::SendCodeByText;

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
#[schema(as = SmsOtpSendRequest)]
pub(crate) struct Request {
    /// Where the code goes, in E.164 form; the number of a user.
    #[schema(
        min_length = 1,
        max_length = 16,
        pattern = r"^\+[0-9]{1,15}$",
        examples("+15005550006")
    )]
    phone_number: String,
    /// Minutes for which the code is good; 1 when absent.
    #[schema(minimum = 1, maximum = 10, examples(5))]
    expires_in: Option<i64>,
    /// When it is sent here, the App's setting says what of it the verify step must match.
    device_fingerprint: Option<Device>,
    /// A session of the user, who is signed in and adds the number: needed as long as it is not verified and the account is somebody's.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_token: Option<String>,
    /// The same, by one of its JWTs.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_jwt: Option<String>,
}

/// A code is on its way.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SmsOtpSendResponse)]
pub(crate) struct Answer {
    /// The `method_id` of the verify call.
    #[schema(pattern = "^pn_[0-9A-Za-z]{27}$")]
    phone_number_id: String,
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
}

/// Send a code by text message, to a user
///
/// Sends a one-time passcode to a phone number that a user has; 404 when none has it. A number that was attached and is not
/// verified yet is proved within a session of its user: without `session_token` the answer is 403 `insufficient_factor`, unless
/// the App's setting `attached_identifiers` is `trusted`. With the setting `enumeration_safe`, nobody's number and such a one are
/// answered like somebody's. A new code takes the place of an earlier one.
///
/// Text messages are a restricted way to prove who one is (NIST SP 800-63B-4, section 3.1.3.3); offer passkeys or an
/// authenticator app beside them.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/otps/sms/send",
    operation_id = "sendSmsOtp",
    tag = "One-time passcodes",
    request_body = Request,
    responses((status = 200, description = "A code is on its way", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = SendCodeByText {
        phone_number: request.phone_number,
        expires_in: request.expires_in,
        device_fingerprint: request.device_fingerprint.map(Device::check).transpose()?,
        session: session_named(request.session_token, request.session_jwt),
    };
    let sent = call
        .run(|service, caller| async move { service.send_code_by_text(&caller, command).await })
        .await?;
    Ok(Json(Answer {
        phone_number_id: sent.phone.id.to_string(),
        user_id: sent.phone.user_id.to_string(),
    }))
}
