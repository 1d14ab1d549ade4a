//! `POST /v1/auth/passwords/verify`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::passwords::VerifyPassword;
use vestry_domain::Secret;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{Device, IssuedFields, parse_id, response_with_session, session_fields};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidCredentials,
    Code::InvalidSession,
    Code::TooManyAttempts,
    Code::Sealed,
];

/// The user and password to verify, and how to handle the session.
#[derive(Deserialize, ToSchema)]
#[schema(as = PasswordVerifyRequest)]
pub(crate) struct Request {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The password, at most 1,024 bytes.
    #[schema(examples("correct horse battery staple"))]
    password: String,
    /// Lifetime of the session in minutes, counted from now. Without a session in the request, a new one is started.
    #[schema(minimum = 5, maximum = 525_600, examples(60))]
    session_expires_in: Option<i64>,
    /// Token of a session of the same user. The new factor is added to the session, which gets a new token.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_token: Option<String>,
    /// A JWT of that session, as an alternative to `session_token`.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_jwt: Option<String>,
    /// Strings that the session and its JWTs carry for the App. When absent, a new session has none and an existing one keeps its own.
    #[schema(max_items = 50)]
    permissions: Option<Vec<String>>,
    /// The end user's device. Wrong passwords also count against its IP address.
    device_fingerprint: Option<Device>,
}

response_with_session! {
    /// The verified user, and the session if one was requested.
    #[derive(Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    #[schema(as = PasswordVerifyResponse)]
    pub(crate) struct Response {
        /// Id of the user.
        #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
        user_id: String,
    }
}

/// Verify a password
///
/// An unknown user, a user without a password and a wrong password all return the same 401 `invalid_credentials`, after the same amount of
/// work.
///
/// After twenty wrong passwords in a row, the password is locked for a minute, then for longer each time (429 with `Retry-After`). The
/// user's other sign-in methods stay available.
///
/// If the server is at its hashing capacity, the call returns 503 with `Retry-After`.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/passwords/verify",
    operation_id = "verifyPassword",
    tag = "Passwords",
    request_body = Request,
    responses((status = 200, description = "The password was correct", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = VerifyPassword {
        user_id: parse_id("user_id", &request.user_id)?,
        password: Secret::new(request.password),
        session_fields: session_fields!(request),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    // On the worker, so that a rejected request does not enter the runtime.
    call.service().require_room_to_hash()?;
    let verified = call
        .run(|service, caller| async move { service.verify_password(&caller, command).await })
        .await?;
    let issued = IssuedFields::from(verified.issued);
    Ok(Json(Response {
        user_id: verified.user_id.to_string(),
        session_token: issued.session_token,
        session_jwt: issued.session_jwt,
        session: issued.session,
    }))
}
