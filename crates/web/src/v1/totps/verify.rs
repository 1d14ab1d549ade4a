//! `POST /v1/auth/totps/verify`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::totps::{PresentedTotp, VerifiedTotp, VerifyTotp};
use vestry_domain::Secret;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{
    Device, IssuedFields, parse_id, request_with_session, response_with_session, session_fields,
};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidOtp,
    Code::InvalidSession,
    Code::NotFound,
    Code::TooManyAttempts,
    Code::Sealed,
];

request_with_session! {
    /// The code to verify, and how to handle the session.
    #[derive(Deserialize, ToSchema)]
    #[schema(as = TotpVerifyRequest)]
    pub(crate) struct Request {
        /// Id of the user.
        #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
        user_id: String,
        /// The six digits that the authenticator app shows.
        #[schema(examples("000000"))]
        totp: String,
    }
}

response_with_session! {
    /// The verified authenticator app, and the session if one was requested.
    #[derive(Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    #[schema(as = TotpVerifyResponse)]
    pub(crate) struct Response {
        /// Id of the authenticator app.
        #[schema(pattern = "^totp_[0-9A-Za-z]{27}$")]
        totp_id: String,
        /// Id of the user.
        #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
        user_id: String,
    }
}

impl From<VerifiedTotp> for Response {
    fn from(verified: VerifiedTotp) -> Self {
        let issued = IssuedFields::from(verified.issued);
        Self {
            totp_id: verified.totp_id.to_string(),
            user_id: verified.user_id.to_string(),
            session_token: issued.session_token,
            session_jwt: issued.session_jwt,
            session: issued.session,
        }
    }
}

/// Verify a code of an authenticator app
///
/// Accepts the codes of the current, the previous and the next 30 seconds, each once. Wrong, used and expired codes all return the same 400
/// `invalid_otp`.
///
/// After 20 failures in a row the user is locked out, for longer each time. After 33 failures in a day (fewer with several authenticator
/// apps) the lockout lasts until the day is over.
///
/// A `pending` user gets 403 `insufficient_factor`. The first correct code activates the authenticator app: the user's other sessions end
/// and the user is notified.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/totps/verify",
    operation_id = "verifyTotp",
    tag = "Authenticator apps",
    request_body = Request,
    responses((status = 200, description = "The code was correct", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = VerifyTotp {
        user_id: parse_id("user_id", &request.user_id)?,
        presented: PresentedTotp::Code(Secret::new(request.totp)),
        session_fields: session_fields!(request),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let verified = call
        .run(|service, caller| async move { service.verify_totp(&caller, command).await })
        .await?;
    Ok(Json(verified.into()))
}
