//! `POST /v1/auth/webauthn/verify`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use vestry_app::identity::passkeys::VerifyPasskey;
use vestry_app::identity::sessions::SessionObject;
use vestry_domain::Invalid;

use crate::http::{Body, Call, Code, Problem};
use crate::v1::shapes::{Device, IssuedFields, Session, SessionFields};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidCredentials,
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::Sealed,
];

/// The authenticator's response, and how to handle the session.
#[derive(Deserialize, ToSchema)]
#[schema(as = WebauthnVerifyRequest)]
pub(crate) struct Request {
    /// `PublicKeyCredential.toJSON()` of the browser, as an object or a JSON string.
    #[schema(value_type = Object, required = true)]
    public_key_credential: Option<Value>,
    /// Lifetime of the session in minutes, counted from now. Without a session in the request, a new one is started.
    #[schema(minimum = 5, maximum = 525_600, examples(60))]
    session_expires_in: Option<i64>,
    /// Token of a session of the same user. The new factor is added to the session, which gets a new token.
    #[serde(default, deserialize_with = "crate::http::json::text_or_absent")]
    session_token: Option<String>,
    /// A JWT of that session, as an alternative to `session_token`.
    #[serde(default, deserialize_with = "crate::http::json::text_or_absent")]
    session_jwt: Option<String>,
    /// Strings that the session and its JWTs carry for the App. When absent, a new session has none and an existing one keeps its own.
    #[schema(max_items = 50)]
    permissions: Option<Vec<String>>,
    /// The end user's device.
    device_fingerprint: Option<Device>,
}

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
    /// Token of the session, 64 characters; `""` if none was requested.
    #[schema(pattern = "^([0-9A-Za-z]{64})?$")]
    session_token: String,
    /// JWT of the session; `""` if none was requested.
    session_jwt: String,
    /// The session; `null` if none was requested.
    #[schema(value_type = Option<Session>, required = true)]
    session: Option<SessionObject>,
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
