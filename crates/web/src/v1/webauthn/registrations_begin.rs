//! `POST /v1/auth/webauthn/registrations/begin`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::passkeys::BeginRegistration;
use vestry_edge::views::CreationOptions;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::parse_id;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound];

/// The user who gets a passkey, and its domain.
#[derive(Deserialize, ToSchema)]
#[schema(as = WebauthnRegistrationBeginRequest)]
pub(crate) struct Request {
    /// Relying party id. It must be listed in the App's `webauthn_domains`, or be `localhost` with a test key.
    #[schema(min_length = 1, max_length = 253, examples("localhost"))]
    domain: String,
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Kind of authenticator: `platform` (default) or `cross-platform`.
    #[schema(pattern = "^(platform|cross-platform)$")]
    authenticator_type: Option<String>,
}

/// Options for `navigator.credentials.create()`.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WebauthnRegistrationBeginResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    public_key_credential_creation_options: CreationOptions,
}

/// Begin a passkey registration
///
/// Returns the options for `navigator.credentials.create()`. The challenge is single-use and expires after five minutes.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/webauthn/registrations/begin",
    operation_id = "beginWebauthnRegistration",
    tag = "Passkeys",
    request_body = Request,
    responses((status = 200, description = "Options for the browser", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = BeginRegistration {
        user_id: parse_id("user_id", &request.user_id)?,
        domain: request.domain,
        authenticator_type: request.authenticator_type,
    };
    let options =
        call.run(|service, caller| async move {
            service.begin_passkey_registration(&caller, command).await
        })
        .await?;
    Ok(Json(Response {
        user_id: options.user_id.to_string(),
        public_key_credential_creation_options: options.into(),
    }))
}
