//! `POST /v1/auth/otps/verify`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::codes::VerifyCode;
use vestry_domain::Secret;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{
    Device, IssuedFields, request_with_session, response_with_session, session_fields,
};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidOtp,
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::TooManyAttempts,
    Code::LimitReached,
    Code::Sealed,
];

request_with_session! {
    /// The code to verify, and how to handle the session.
    #[derive(Deserialize, ToSchema)]
    #[schema(as = OtpVerifyRequest)]
    pub(crate) struct Request {
        /// The `email_id` or `phone_number_id` that the send call returned.
        #[schema(pattern = "^(email|pn)_[0-9A-Za-z]{27}$")]
        method_id: String,
        /// The code: six digits, or eight while the App is under a guessing attack. Spaces are ignored. A value that cannot be a code does not
        /// count as an attempt.
        #[schema(examples("000000"))]
        otp: String,
    }
}

response_with_session! {
    /// The verified identifier, and the session if one was requested.
    #[derive(Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    #[schema(as = OtpVerifyResponse)]
    pub(crate) struct Response {
        /// Id of the verified identifier.
        #[schema(pattern = "^(email|pn)_[0-9A-Za-z]{27}$")]
        method_id: String,
        /// Kind of the identifier: `email` or `phone_number`.
        #[schema(pattern = "^(email|phone_number)$")]
        method_type: &'static str,
        /// Id of the user.
        #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
        user_id: String,
    }
}

/// Verify a code
///
/// A code can be used once. Wrong, expired, used and unknown codes all return the same 400 `invalid_otp`. Five wrong attempts invalidate a
/// code.
///
/// The correct code verifies the address or number and activates a pending user. If a session field is sent, it also starts or continues a
/// session.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/otps/verify",
    operation_id = "verifyOtp",
    tag = "One-time passcodes",
    request_body = Request,
    responses((status = 200, description = "The code was correct", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = VerifyCode {
        method_id: request.method_id.parse()?,
        otp: Secret::new(request.otp),
        session_fields: session_fields!(request),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let verified = call
        .run(|service, caller| async move { service.verify_code(&caller, command).await })
        .await?;
    let issued = IssuedFields::from(verified.issued);
    Ok(Json(Response {
        method_id: verified.method_id.to_string(),
        method_type: verified.method_id.method_type(),
        user_id: verified.user_id.to_string(),
        session_token: issued.session_token,
        session_jwt: issued.session_jwt,
        session: issued.session,
    }))
}
