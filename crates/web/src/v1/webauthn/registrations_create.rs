//! `POST /v1/auth/webauthn/registrations/create`

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use vestry_app::identity::passkeys::CreatePasskey;
use vestry_domain::Invalid;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{Device, parse_id};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Duplicate, Code::Sealed];

/// The browser's response to the registration options.
#[derive(Deserialize, ToSchema)]
#[schema(as = WebauthnRegistrationCreateRequest)]
pub(crate) struct Request {
    /// Id of the user for whom the registration was begun.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// `PublicKeyCredential.toJSON()` of the browser, as an object or a JSON string.
    #[schema(value_type = Object, required = true)]
    public_key_credential: Option<Value>,
    /// The end user's device. Its `user_agent` is stored with the passkey.
    device_fingerprint: Option<Device>,
}

/// The registered passkey.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WebauthnRegistrationCreateResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Id of the passkey.
    #[schema(pattern = "^webauthn_[0-9A-Za-z]{27}$")]
    webauthn_credential_id: String,
}

/// Register a passkey
///
/// Verifies the browser's response and registers the passkey. The challenge is used up even if verification fails. A credential that is
/// already registered returns 409 `duplicate`.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/webauthn/registrations/create",
    operation_id = "createWebauthnCredential",
    tag = "Passkeys",
    request_body = Request,
    responses((status = 200, description = "The passkey is registered", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = CreatePasskey {
        user_id: parse_id("user_id", &request.user_id)?,
        credential: request
            .public_key_credential
            .ok_or_else(|| Invalid::missing("public_key_credential"))?,
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let created = call
        .run(|service, caller| async move { service.create_passkey(&caller, command).await })
        .await?;
    Ok(Json(Response {
        user_id: created.user_id.to_string(),
        webauthn_credential_id: created.passkey_id.to_string(),
    }))
}
