//! `POST /v1/auth/passwords/reset/complete`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::passwords::CompleteReset;
use vestry_domain::Secret;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{
    Device, IssuedFields, request_with_session, response_with_session, session_fields,
};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidMagicToken,
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::TooManyAttempts,
    Code::LimitReached,
    Code::Sealed,
];

request_with_session! {
    /// The new password, and the token that authorizes it.
    #[derive(Deserialize, ToSchema)]
    #[schema(as = PasswordResetCompleteRequest)]
    pub(crate) struct Request {
        /// The `token` from the link.
        token: String,
        /// The new password: at least as long as the App requires, at most 1,024 bytes.
        password: String,
    }
}

response_with_session! {
    /// The user whose password was set, and the session if one was requested.
    #[derive(Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    #[schema(as = PasswordResetCompleteResponse)]
    pub(crate) struct Response {
        /// Id of the user.
        #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
        user_id: String,
    }
}

/// Complete a password reset
///
/// Sets the password, verifies the address, ends the user's other sessions and notifies the user's verified addresses. The token can be
/// used once, but stays valid if the new password is rejected.
///
/// A user with an authenticator app needs a session in the request with a recent factor from `totps/verify` or `totps/recovery`. Otherwise
/// the call returns 403 `insufficient_factor`.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/passwords/reset/complete",
    operation_id = "completePasswordReset",
    tag = "Passwords",
    request_body = Request,
    responses((status = 200, description = "The password was set", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = CompleteReset {
        token: Secret::new(request.token),
        password: Secret::new(request.password),
        session_fields: session_fields!(request),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let completed = call
        .run(|service, caller| async move { service.complete_reset(&caller, command).await })
        .await?;
    let issued = IssuedFields::from(completed.issued);
    Ok(Json(Response {
        user_id: completed.user_id.to_string(),
        session_token: issued.session_token,
        session_jwt: issued.session_jwt,
        session: issued.session,
    }))
}
