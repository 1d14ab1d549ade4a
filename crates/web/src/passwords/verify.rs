//! `POST /v1/auth/passwords/verify`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::passwords::VerifyPassword;
use vestry_app::sessions::SessionObject;
use vestry_domain::Secret;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, IssuedFields, Session, SessionFields, parse_id};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidCredentials,
    Code::InvalidSession,
    Code::TooManyAttempts,
    Code::Sealed,
];

/// A user, a password, and what shall become of a session.
#[derive(Deserialize, ToSchema)]
#[schema(as = PasswordVerifyRequest)]
pub(crate) struct Request {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// At most 1,024 bytes.
    #[schema(examples("correct horse battery staple"))]
    password: String,
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
    /// The end user's device. Wrong passwords are counted for its address, too.
    device_fingerprint: Option<Device>,
}

/// The password was right.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PasswordVerifyResponse)]
pub(crate) struct Answer {
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

/// Verify a password
///
/// An unknown user, a user without a password and a wrong password get one and the same 401 `invalid_credentials`, after
/// the same work. After twenty wrong passwords in a row the user's password cannot be tried for a minute, then for longer
/// and longer (429 with `Retry-After`); the user's other ways to sign in stay open. More hashes than the machine can
/// compute are answered with 503 and `Retry-After`.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/passwords/verify",
    operation_id = "verifyPassword",
    tag = "Passwords",
    request_body = Request,
    responses((status = 200, description = "The password was right", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = VerifyPassword {
        user_id: parse_id("user_id", &request.user_id)?,
        password: Secret::new(request.password),
        session_fields: SessionFields {
            session_expires_in: request.session_expires_in,
            session_token: request.session_token,
            session_jwt: request.session_jwt,
            permissions: request.permissions,
        }
        .into(),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    // On the worker: turning away costs no crossing.
    call.service().require_room_to_hash()?;
    let verified = call
        .run(|service, caller| async move { service.verify_password(&caller, command).await })
        .await?;
    let issued = IssuedFields::from(verified.issued);
    Ok(Json(Answer {
        user_id: verified.user_id.to_string(),
        session_token: issued.session_token,
        session_jwt: issued.session_jwt,
        session: issued.session,
    }))
}
