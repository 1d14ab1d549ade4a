//! `POST /v1/auth/passwords/strength_check`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_domain::Secret;
use vestry_edge::{Body, Call, Code, Json, Problem};

pub(crate) const ERRORS: &[Code] = &[];

/// The password to check.
#[derive(Deserialize, ToSchema)]
#[schema(as = PasswordStrengthRequest)]
pub(crate) struct Request {
    /// The password, at most 1,024 bytes.
    #[schema(examples("correct horse battery staple"))]
    password: String,
}

/// Estimated strength of a password.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PasswordStrengthResponse)]
pub(crate) struct Response {
    /// Strength from 0 (guessed at once) to 4 (strong).
    #[schema(minimum = 0, maximum = 4)]
    score: u8,
    /// Estimated seconds to guess the password at ten thousand guesses a second.
    #[schema(minimum = 0)]
    crack_time: f64,
    /// The estimated time in words, such as `3 hours` or `centuries`.
    #[schema(min_length = 1)]
    crack_time_display: String,
}

/// Check the strength of a password
///
/// Returns an estimate (zxcvbn) for a strength meter next to an input field. It is advisory only: the call that sets a password enforces
/// the rules. Nothing is stored.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/passwords/strength_check",
    operation_id = "checkPasswordStrength",
    tag = "Passwords",
    request_body = Request,
    responses((status = 200, description = "The estimate", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let password = Secret::new(request.password);
    let strength = call
        .run(|service, caller| async move { service.password_strength(&caller, password).await })
        .await?;
    Ok(Json(Response {
        score: strength.score,
        crack_time: strength.crack_time,
        crack_time_display: strength.crack_time_display,
    }))
}
