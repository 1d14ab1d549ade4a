//! `POST /v1/auth/magic_links/email/login_status`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::links::LoginStatusQuery;
use vestry_domain::Secret;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{IssuedFields, UserStatusName, parse_id};

pub(crate) const ERRORS: &[Code] = &[
    Code::MagicLinkNotVerified,
    Code::MagicLinkExpired,
    Code::InvalidRequestOriginToken,
    Code::Sealed,
];

/// The link to query.
#[derive(Deserialize, ToSchema)]
#[schema(as = MagicLinkLoginStatusRequest)]
pub(crate) struct Request {
    /// The `email_id` that `magic_links/create` returned.
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
    /// The `request_origin_token` that `magic_links/create` returned.
    request_origin_token: String,
}

/// The user of a link that was used.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MagicLinkLoginStatusResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Status of the user.
    #[schema(value_type = UserStatusName)]
    status: &'static str,
    /// Token of a separate session for this browser; `""` if the verify call started no session.
    #[schema(pattern = "^([0-9A-Za-z]{64})?$")]
    session_token: String,
    /// JWT of that session; `""` if the verify call started no session.
    session_jwt: String,
}

/// Check whether a link was used
///
/// For the browser that requested a link while the mail is read elsewhere. Poll every few seconds; the call returns 400
/// `magic_link_not_verified` until the link is used.
///
/// If the verify call started a session, the response then contains **another** session of the same user for this browser. Its only factor
/// is the link, and it ends when the first session does.
///
/// The session is returned once. After that, and for a link that was replaced, the token is no longer valid.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/magic_links/email/login_status",
    operation_id = "magicLinkLoginStatus",
    tag = "Magic links",
    request_body = Request,
    responses((status = 200, description = "The link was used", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let query = LoginStatusQuery {
        email_id: parse_id("email_id", &request.email_id)?,
        origin_token: Secret::new(request.request_origin_token),
    };
    let status = call
        .run(|service, caller| async move { service.login_status(&caller, query).await })
        .await?;
    let issued = IssuedFields::from(status.issued);
    Ok(Json(Response {
        user_id: status.user_id.to_string(),
        status: status.status.as_str(),
        session_token: issued.session_token,
        session_jwt: issued.session_jwt,
    }))
}
