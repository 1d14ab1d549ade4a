//! `POST /v1/auth/passwords/reset/begin`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::passwords::BeginReset;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, session_named};

pub(crate) const ERRORS: &[Code] = &[
    Code::RedirectUrlMissing,
    Code::RedirectUrlNotAllowed,
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::NotFound,
    Code::TooManyAttempts,
    Code::Sealed,
];

/// Whose password shall be set anew.
#[derive(Deserialize, ToSchema)]
#[schema(as = PasswordResetBeginRequest)]
pub(crate) struct Request {
    /// Where the link goes: the address of a user, as far as the App tells.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ok@vestry.test")
    )]
    email: String,
    /// Where the link leads: one of the App's login URLs, to which `token` is appended. The App's default when absent.
    #[schema(max_length = 2048)]
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    reset_redirect_url: Option<String>,
    /// Minutes for which the link is good; 60 when absent.
    #[schema(minimum = 5, maximum = 1_440, examples(60))]
    expires_in: Option<i64>,
    /// When it is sent here, the App's setting says what of it the second step must match.
    device_fingerprint: Option<Device>,
    /// A session of the user, who is signed in and adds the address: needed as long as it is not verified and the account is somebody's.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_token: Option<String>,
    /// The same, by one of its JWTs.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_jwt: Option<String>,
}

/// A link is on its way.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PasswordResetBeginResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
}

/// Send a link to set a new password
///
/// Nothing changes until the link is used. A new link takes the place of an earlier one. 404 when nobody has the address. For
/// an address that was attached and is not verified yet, 403 `insufficient_factor` without a `session_token` of its user, unless
/// the App's setting `attached_identifiers` is `trusted`. With the setting `enumeration_safe`, nobody's address and such a one
/// are answered like somebody's.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/passwords/reset/begin",
    operation_id = "beginPasswordReset",
    tag = "Passwords",
    request_body = Request,
    responses((status = 200, description = "A link is on its way", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = BeginReset {
        email: request.email,
        reset_redirect_url: request.reset_redirect_url,
        expires_in: request.expires_in,
        device_fingerprint: request.device_fingerprint.map(Device::check).transpose()?,
        session: session_named(request.session_token, request.session_jwt),
    };
    let begun = call
        .run(|service, caller| async move { service.begin_reset(&caller, command).await })
        .await?;
    Ok(Json(Answer {
        user_id: begun.user_id.to_string(),
        email_id: begun.email_id.to_string(),
    }))
}
