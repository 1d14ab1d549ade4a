//! `POST /v1/auth/passwords/session/update`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::passwords::UpdatePassword;
use vestry_app::sessions::SessionObject;
use vestry_domain::Secret;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::Session;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidSession,
    Code::InvalidCredentials,
    Code::InsufficientFactor,
    Code::TooManyAttempts,
    Code::Sealed,
];

/// A session and the new password of its user; `session_token`, `session_jwt`, or both for the same session.
#[derive(Deserialize, ToSchema)]
#[schema(as = PasswordUpdateRequest)]
pub(crate) struct Request {
    /// The new password: at least 8 characters (the App may ask for more), at most 1,024 bytes.
    #[schema(min_length = 1, examples("correct horse battery staple"))]
    password: String,
    /// The present password. Without it the session must hold a factor that was proved lately.
    current_password: Option<String>,
    /// The session's token.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_token: Option<String>,
    /// One of its JWTs, also an expired one within the App's `jwt_renewal_window`.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_jwt: Option<String>,
}

/// The password was set.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PasswordUpdateResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The session, with the password among its factors; its token stays as it is.
    #[schema(value_type = Session)]
    session: SessionObject,
}

/// Set the password of a session's user
///
/// The first password as well as every other one. A refused password (too short, too common, on a list of stolen ones, a
/// name of the user or the App) is 400 `invalid_field` with the reason in words. The first password needs a session that
/// holds a factor of a code, a link, a provider or a password; every one needs either `current_password` or a factor that
/// was proved within the App's `freshness_minutes`, else 403 `insufficient_factor`. Of a user with an authenticator app, a code
/// or link counts only beside a factor of that, proved as lately. The user's other sessions end, and every verified address
/// is told.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/passwords/session/update",
    operation_id = "updatePasswordBySession",
    tag = "Passwords",
    request_body = Request,
    responses((status = 200, description = "The password was set", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = UpdatePassword {
        password: Secret::new(request.password),
        current_password: request.current_password.map(Secret::new),
        session_token: request.session_token.map(Secret::new),
        session_jwt: request.session_jwt.map(Secret::new),
    };
    let updated = call
        .run(|service, caller| async move { service.update_password(&caller, command).await })
        .await?;
    Ok(Json(Answer {
        user_id: updated.user_id.to_string(),
        session: SessionObject::of(&updated.session),
    }))
}
