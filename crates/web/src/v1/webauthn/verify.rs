//! `POST /v1/auth/webauthn/verify`

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use vestry_app::identity::passkeys::VerifyPasskey;
use vestry_domain::Invalid;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{
    Device, IssuedFields, request_with_session, response_with_session, session_fields,
};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidCredentials,
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::Sealed,
];

request_with_session! {
    /// The authenticator's response, and how to handle the session.
    #[derive(Deserialize, ToSchema)]
    #[schema(as = WebauthnVerifyRequest)]
    pub(crate) struct Request {
        /// `PublicKeyCredential.toJSON()` of the browser, as an object or a JSON string.
        #[schema(value_type = Object, required = true)]
        public_key_credential: Option<Value>,
    }
}

response_with_session! {
    /// The signed-in user, and the session if one was requested.
    #[derive(Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    #[schema(as = WebauthnVerifyResponse)]
    pub(crate) struct Response {
        /// Id of the user.
        #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
        user_id: String,
        /// Id of the passkey.
        #[schema(pattern = "^webauthn_[0-9A-Za-z]{27}$")]
        webauthn_credential_id: String,
    }
}

/// Sign in with a passkey
///
/// A challenge is used up by the first response, valid or not. An unknown, used or expired challenge, an unknown passkey and a failed check
/// all return the same 401 `invalid_credentials`.
///
/// A `pending` user gets 403 `insufficient_factor` and must verify an identifier first.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/webauthn/verify",
    operation_id = "verifyWebauthn",
    tag = "Passkeys",
    request_body = Request,
    responses((status = 200, description = "The user is signed in", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = VerifyPasskey {
        credential: request
            .public_key_credential
            .ok_or_else(|| Invalid::missing("public_key_credential"))?,
        session_fields: session_fields!(request),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let verified = call
        .run(|service, caller| async move { service.verify_passkey(&caller, command).await })
        .await?;
    let issued = IssuedFields::from(verified.issued);
    Ok(Json(Response {
        user_id: verified.user_id.to_string(),
        webauthn_credential_id: verified.passkey_id.to_string(),
        session_token: issued.session_token,
        session_jwt: issued.session_jwt,
        session: issued.session,
    }))
}
