//! `POST /v1/auth/otps/verify`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::codes::VerifyCode;
use vestry_app::sessions::SessionObject;
use vestry_domain::Secret;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, IssuedFields, Session, SessionFields};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidOtp,
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::TooManyAttempts,
    Code::LimitReached,
    Code::Sealed,
];

/// A code, and what shall become of a session.
#[derive(Deserialize, ToSchema)]
#[schema(as = OtpVerifyRequest)]
pub(crate) struct Request {
    /// The `email_id` or `phone_number_id` that the send call answered.
    #[schema(pattern = "^(email|pn)_[0-9A-Za-z]{27}$")]
    method_id: String,
    /// The digits: six, or eight while somebody guesses at many accounts of the App. Spaces do not matter, and what cannot be a
    /// code does not count as a try.
    #[schema(examples("000000"))]
    otp: String,
    /// Minutes. Without a session in the request: start one that long. With one: it ends that long from now.
    #[schema(minimum = 5, maximum = 525_600, examples(60))]
    session_expires_in: Option<i64>,
    /// A session of the same user; the new factor is added to it and it gets a fresh token.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_token: Option<String>,
    /// The same, by one of its JWTs.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_jwt: Option<String>,
    /// Strings that the session and its JWTs carry for the App; none when absent, as before in a continued session.
    #[schema(max_items = 50)]
    permissions: Option<Vec<String>>,
    /// The end user's device.
    device_fingerprint: Option<Device>,
}

/// The code was right.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OtpVerifyResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^(email|pn)_[0-9A-Za-z]{27}$")]
    method_id: String,
    /// `email` or `phone_number`.
    #[schema(pattern = "^(email|phone_number)$")]
    method_type: &'static str,
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// `""` when no session was asked for.
    #[schema(pattern = "^([0-9A-Za-z]{64})?$")]
    session_token: String,
    /// `""` when no session was asked for.
    session_jwt: String,
    /// `null` when no session was asked for.
    #[schema(value_type = Option<Session>, required = true)]
    session: Option<SessionObject>,
}

/// Verify a code
///
/// A code is right once. Wrong, expired, used and unknown codes get one and the same 400 `invalid_otp`; five wrong
/// tries kill a code. A right one verifies the address, makes a pending user active, and starts or continues a session
/// when one of the session fields is sent.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/otps/verify",
    operation_id = "verifyOtp",
    tag = "One-time passcodes",
    request_body = Request,
    responses((status = 200, description = "The code was right", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = VerifyCode {
        method_id: request.method_id.parse()?,
        otp: Secret::new(request.otp),
        session_fields: SessionFields {
            session_expires_in: request.session_expires_in,
            session_token: request.session_token,
            session_jwt: request.session_jwt,
            permissions: request.permissions,
        }
        .into(),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let verified = call
        .run(|service, caller| async move { service.verify_code(&caller, command).await })
        .await?;
    let issued = IssuedFields::from(verified.issued);
    Ok(Json(Answer {
        method_id: verified.method_id.to_string(),
        method_type: verified.method_id.method_type(),
        user_id: verified.user_id.to_string(),
        session_token: issued.session_token,
        session_jwt: issued.session_jwt,
        session: issued.session,
    }))
}
