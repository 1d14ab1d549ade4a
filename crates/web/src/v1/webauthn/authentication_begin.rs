//! `POST /v1/auth/webauthn/authentication/begin`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::passkeys::BeginAuthentication;
use vestry_edge::views::RequestOptions;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::optional_id;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound];

/// The domain to sign in on, and optionally the user.
#[derive(Deserialize, ToSchema)]
#[schema(as = WebauthnAuthenticationBeginRequest)]
pub(crate) struct Request {
    /// Relying party id. It must be listed in the App's `webauthn_domains`, or be `localhost` with a test key.
    #[schema(min_length = 1, max_length = 253, examples("localhost"))]
    domain: String,
    /// Id of the user, if already known. If absent or `""`, the passkey identifies the user.
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    user_id: Option<String>,
}

/// Options for `navigator.credentials.get()`.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WebauthnAuthenticationBeginResponse)]
pub(crate) struct Response {
    /// Id of the user; `""` if the request named none.
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    user_id: String,
    public_key_credential_request_options: RequestOptions,
}

/// Begin a sign-in with a passkey
///
/// Returns the options for `navigator.credentials.get()`. The challenge is single-use and expires after five minutes.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/webauthn/authentication/begin",
    operation_id = "beginWebauthnAuthentication",
    tag = "Passkeys",
    request_body = Request,
    responses((status = 200, description = "Options for the browser", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = BeginAuthentication {
        domain: request.domain,
        user_id: optional_id("user_id", request.user_id)?,
    };
    let options = call
        .run(|service, caller| async move {
            service.begin_passkey_authentication(&caller, command).await
        })
        .await?;
    Ok(Json(Response {
        user_id: options
            .user_id
            .map(|user| user.to_string())
            .unwrap_or_default(),
        public_key_credential_request_options: options.into(),
    }))
}
