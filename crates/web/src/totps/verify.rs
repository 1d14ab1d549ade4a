//! `POST /v1/auth/totps/verify`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::sessions::SessionObject;
use vestry_app::totps::{PresentedTotp, VerifiedTotp, VerifyTotp};
use vestry_domain::Secret;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, IssuedFields, Session, SessionFields, parse_id};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidOtp,
    Code::InvalidSession,
    Code::NotFound,
    Code::TooManyAttempts,
    Code::Sealed,
];

/// A code, and what shall become of a session.
#[derive(Deserialize, ToSchema)]
#[schema(as = TotpVerifyRequest)]
pub(crate) struct Request {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The six digits that the authenticator app shows.
    #[schema(examples("000000"))]
    totp: String,
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
#[schema(as = TotpVerifyResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^totp_[0-9A-Za-z]{27}$")]
    totp_id: String,
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

impl From<VerifiedTotp> for Answer {
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
/// Takes the code of the present 30 seconds, of those before and of those after, each once. Wrong, used and expired codes
/// get one and the same 400 `invalid_otp`; after 20 failures in a row the user has to wait before the next try, longer each
/// time, and after 33 in a day (fewer with several authenticator apps) until it is over. A user who is `pending` is refused
/// with 403 `insufficient_factor`. The first right code makes the authenticator app count: the user's other sessions end and
/// the user is told.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/totps/verify",
    operation_id = "verifyTotp",
    tag = "Authenticator apps",
    request_body = Request,
    responses((status = 200, description = "The code was right", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = VerifyTotp {
        user_id: parse_id("user_id", &request.user_id)?,
        presented: PresentedTotp::Code(Secret::new(request.totp)),
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
        .run(|service, caller| async move { service.verify_totp(&caller, command).await })
        .await?;
    Ok(Json(verified.into()))
}
