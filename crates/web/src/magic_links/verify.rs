//! `POST /v1/auth/magic_links/verify`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::links::VerifyLink;
use vestry_app::sessions::SessionObject;
use vestry_domain::Secret;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, IssuedFields, Session, SessionFields};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidMagicToken,
    Code::InvalidRequestOriginToken,
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::TooManyAttempts,
    Code::LimitReached,
    Code::Sealed,
];

/// A token out of a link, and what shall become of a session.
#[derive(Deserialize, ToSchema)]
#[schema(as = MagicLinkVerifyRequest)]
pub(crate) struct Request {
    /// The `token` that stands in the query of the URL that was opened.
    token: String,
    /// The token of the browser that asked for a link of `magic_links/create`. Send what this browser holds, or `""`, to accept
    /// the link in that browser only; leave it out to accept it anywhere.
    request_origin_token: Option<String>,
    /// The code verifier of the `code_challenge` with which the link was asked for; where it was asked for with none, there must
    /// be none. After five wrong ones the link is used up.
    #[schema(pattern = "^[0-9A-Za-z._~-]{43,128}$")]
    code_verifier: Option<String>,
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

/// The link was good.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MagicLinkVerifyResponse)]
pub(crate) struct Answer {
    /// The address that the link proved.
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    method_id: String,
    /// `email`.
    #[schema(pattern = "^email$")]
    method_type: &'static str,
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

/// Verify a link
///
/// A link is good once, and to whoever has the verifier of the challenge with which it was asked for; only this call uses it up.
/// Unknown, expired, used and replaced links get one and the same 400 `invalid_magic_token`. A good one verifies the address,
/// makes a pending user active, and starts or continues a session when one of the session fields is sent.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/magic_links/verify",
    operation_id = "verifyMagicLink",
    tag = "Magic links",
    request_body = Request,
    responses((status = 200, description = "The link was good", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = VerifyLink {
        token: Secret::new(request.token),
        origin_token: request.request_origin_token.map(Secret::new),
        code_verifier: request.code_verifier.map(Secret::new),
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
        .run(|service, caller| async move { service.verify_link(&caller, command).await })
        .await?;
    let issued = IssuedFields::from(verified.issued);
    Ok(Json(Answer {
        method_id: verified.email_id.to_string(),
        method_type: "email",
        user_id: verified.user_id.to_string(),
        session_token: issued.session_token,
        session_jwt: issued.session_jwt,
        session: issued.session,
    }))
}
