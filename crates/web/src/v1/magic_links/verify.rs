//! `POST /v1/auth/magic_links/verify`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::links::VerifyLink;
use vestry_domain::Secret;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{
    Device, IssuedFields, request_with_session, response_with_session, session_fields,
};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidMagicToken,
    Code::InvalidRequestOriginToken,
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::TooManyAttempts,
    Code::LimitReached,
    Code::Sealed,
];

request_with_session! {
    /// The token to verify, and how to handle the session.
    #[derive(Deserialize, ToSchema)]
    #[schema(as = MagicLinkVerifyRequest)]
    pub(crate) struct Request {
        /// The `token` from the query of the URL that was opened.
        token: String,
        /// Token of the browser that requested the link from `magic_links/create`. Send the browser's token, or `""` if it has none, to accept
        /// the link in that browser only. Omit the field to accept the link anywhere.
        request_origin_token: Option<String>,
        /// PKCE code verifier: 43 to 128 characters. Required if the link was requested with a `code_challenge`, not allowed otherwise. After
        /// five wrong verifiers the link is used up.
        #[schema(pattern = "^[0-9A-Za-z._~-]{43,128}$")]
        code_verifier: Option<String>,
    }
}

response_with_session! {
    /// The verified address, and the session if one was requested.
    #[derive(Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    #[schema(as = MagicLinkVerifyResponse)]
    pub(crate) struct Response {
        /// Id of the address that the link verified.
        #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
        method_id: String,
        /// Kind of the identifier; always `email`.
        #[schema(pattern = "^email$")]
        method_type: &'static str,
        /// Id of the user.
        #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
        user_id: String,
    }
}

/// Verify a link
///
/// A link can be used once, and requires the PKCE verifier if it was requested with a challenge. Only this call uses it up. Unknown,
/// expired, used and replaced links all return the same 400 `invalid_magic_token`.
///
/// A valid link verifies the address and activates a pending user. If a session field is sent, it also starts or continues a session.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/magic_links/verify",
    operation_id = "verifyMagicLink",
    tag = "Magic links",
    request_body = Request,
    responses((status = 200, description = "The link was valid", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = VerifyLink {
        token: Secret::new(request.token),
        origin_token: request.request_origin_token.map(Secret::new),
        code_verifier: request.code_verifier.map(Secret::new),
        session_fields: session_fields!(request),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let verified = call
        .run(|service, caller| async move { service.verify_link(&caller, command).await })
        .await?;
    let issued = IssuedFields::from(verified.issued);
    Ok(Json(Response {
        method_id: verified.email_id.to_string(),
        method_type: "email",
        user_id: verified.user_id.to_string(),
        session_token: issued.session_token,
        session_jwt: issued.session_jwt,
        session: issued.session,
    }))
}
