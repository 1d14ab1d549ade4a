//! `POST /v1/auth/magic_links/create`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::links::CreateLink;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, parse_id, session_named};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::NotFound,
];

/// Who shall get a link; `user_id`, `email` or both.
#[derive(Deserialize, ToSchema)]
#[schema(as = MagicLinkCreateRequest)]
pub(crate) struct Request {
    /// The user. Without `email`, the link proves its first verified address, or its first one.
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    user_id: Option<String>,
    /// The address that the link proves; one that a user has.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ok@vestry.test")
    )]
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    email: Option<String>,
    /// Minutes for which the link is good; 60 when absent.
    #[schema(minimum = 5, maximum = 10_080, examples(15))]
    expires_in: Option<i64>,
    /// The device that asks. The App's setting says what of it the verify step must match; a session that `login_status`
    /// answers carries it.
    device_fingerprint: Option<Device>,
    /// A session of the user, who is signed in and adds the address: needed as long as it is not verified and the account is somebody's.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_token: Option<String>,
    /// The same, by one of its JWTs.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_jwt: Option<String>,
}

/// A link was made, and nothing was mailed.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MagicLinkCreateResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
    /// What `magic_links/verify` takes. Bring it to the address, and nowhere else: it proves that its bearer reads mail there.
    #[schema(pattern = "^[0-9A-Za-z]{48}$")]
    token: String,
    /// What `magic_links/email/login_status` takes. Keep it in the browser that asks, and never in the mail.
    #[schema(pattern = "^[0-9A-Za-z]{128}$")]
    request_origin_token: String,
}

/// Make a link without mailing it
///
/// For Apps that mail by themselves: put the token into a URL of your own and send it to the address of the user. A new
/// link takes the place of an earlier one. An address that was attached and is not verified yet is proved within a session of its
/// user: without `session_token` the answer is 403 `insufficient_factor`, unless the App's setting `attached_identifiers` is
/// `trusted`.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/magic_links/create",
    operation_id = "createMagicLink",
    tag = "Magic links",
    request_body = Request,
    responses((status = 200, description = "A link was made", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let user_id = request.user_id.as_deref();
    let command = CreateLink {
        user_id: user_id.map(|id| parse_id("user_id", id)).transpose()?,
        email: request.email,
        expires_in: request.expires_in,
        device_fingerprint: request.device_fingerprint.map(Device::check).transpose()?,
        session: session_named(request.session_token, request.session_jwt),
    };
    let made = call
        .run(|service, caller| async move { service.create_link(&caller, command).await })
        .await?;
    Ok(Json(Answer {
        user_id: made.email.user_id.to_string(),
        email_id: made.email.id.to_string(),
        token: made.token.expose().clone(),
        request_origin_token: made.origin_token.expose().clone(),
    }))
}
