//! `POST /v1/auth/passwords/strength_check`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_domain::Secret;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};

pub(crate) const ERRORS: &[Code] = &[];

/// A password that somebody thinks of.
#[derive(Deserialize, ToSchema)]
#[schema(as = PasswordStrengthRequest)]
pub(crate) struct Request {
    /// At most 1,024 bytes.
    #[schema(examples("correct horse battery staple"))]
    password: String,
}

/// How strong it is.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PasswordStrengthResponse)]
pub(crate) struct Answer {
    /// 0 (guessed at once) to 4 (strong).
    #[schema(minimum = 0, maximum = 4)]
    score: u8,
    /// Seconds that guessing takes at ten thousand guesses a second.
    #[schema(minimum = 0)]
    crack_time: f64,
    /// The same in words, such as `3 hours` or `centuries`.
    #[schema(min_length = 1)]
    crack_time_display: String,
}

/// Judge a password
///
/// An estimate (zxcvbn) for a meter beside a field. It decides nothing: what a new password has to be is said by the call
/// that sets it. Nothing of it is stored.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/passwords/strength_check",
    operation_id = "checkPasswordStrength",
    tag = "Passwords",
    request_body = Request,
    responses((status = 200, description = "The verdict", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let password = Secret::new(request.password);
    let strength = call
        .run(|service, caller| async move { service.password_strength(&caller, password).await })
        .await?;
    Ok(Json(Answer {
        score: strength.score,
        crack_time: strength.crack_time,
        crack_time_display: strength.crack_time_display,
    }))
}
