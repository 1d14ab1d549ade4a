//! `POST /v1/auth/passwords/session/update`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::passwords::UpdatePassword;
use vestry_app::identity::sessions::SessionObject;
use vestry_domain::Secret;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::Session;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidSession,
    Code::InvalidCredentials,
    Code::InsufficientFactor,
    Code::TooManyAttempts,
    Code::Sealed,
];

/// The new password, and a session of the user: `session_token`, `session_jwt`, or both for the same session.
#[derive(Deserialize, ToSchema)]
#[schema(as = PasswordUpdateRequest)]
pub(crate) struct Request {
    /// The new password: at least 8 characters (or more if the App requires it), at most 1,024 bytes.
    #[schema(min_length = 1, examples("correct horse battery staple"))]
    password: String,
    /// The current password. Without it, the session must have a recently verified factor.
    current_password: Option<String>,
    /// Token of the session.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_token: Option<String>,
    /// A JWT of the session, which may have expired within the App's `jwt_renewal_window`.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_jwt: Option<String>,
}

/// The user whose password was set, and the session.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PasswordUpdateResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The session, with the password as a factor. Its token is unchanged.
    #[schema(value_type = Session)]
    session: SessionObject,
}

/// Set the password of a session's user
///
/// Sets the first password or changes an existing one. The user's other sessions end, and all verified addresses are notified.
///
/// A password that is too short, too common, breached, or a name of the user or the App returns 400 `invalid_field` with the
/// reason in the message.
///
/// The call needs `current_password` or a factor verified within the App's `freshness_minutes`; otherwise it returns 403
/// `insufficient_factor`. To set the first password, the session must have a code, link, provider or password factor.
///
/// If the user has an authenticator app, a code or link counts only together with an equally recent authenticator app factor.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/passwords/session/update",
    operation_id = "updatePasswordBySession",
    tag = "Passwords",
    request_body = Request,
    responses((status = 200, description = "The password was set", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = UpdatePassword {
        password: Secret::new(request.password),
        current_password: request.current_password.map(Secret::new),
        session_token: request.session_token.map(Secret::new),
        session_jwt: request.session_jwt.map(Secret::new),
    };
    let updated = call
        .run(|service, caller| async move { service.update_password(&caller, command).await })
        .await?;
    Ok(Json(Response {
        user_id: updated.user_id.to_string(),
        session: SessionObject::of(&updated.session),
    }))
}
