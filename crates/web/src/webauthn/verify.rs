//! `POST /v1/auth/webauthn/verify`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use vestry_app::passkeys::VerifyPasskey;
use vestry_app::sessions::SessionObject;
use vestry_domain::Invalid;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, IssuedFields, Session, SessionFields};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidCredentials,
    Code::InvalidSession,
    Code::InsufficientFactor,
    Code::Sealed,
];

/// What the authenticator answered, and what shall become of a session.
#[derive(Deserialize, ToSchema)]
#[schema(as = WebauthnVerifyRequest)]
pub(crate) struct Request {
    /// `PublicKeyCredential.toJSON()` of the browser, as an object or as the text of one.
    #[schema(value_type = Object, required = true)]
    public_key_credential: Option<Value>,
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

/// The passkey signed its user in.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WebauthnVerifyResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    #[schema(pattern = "^webauthn_[0-9A-Za-z]{27}$")]
    webauthn_credential_id: String,
    /// `""` when no session was asked for.
    #[schema(pattern = "^([0-9A-Za-z]{64})?$")]
    session_token: String,
    /// `""` when no session was asked for.
    session_jwt: String,
    /// `null` when no session was asked for.
    #[schema(value_type = Option<Session>, required = true)]
    session: Option<SessionObject>,
}

/// Sign in by passkey
///
/// A challenge is answered once, rightly or wrongly. An unknown, used or expired challenge, an unknown passkey and a
/// failed check get one and the same 401 `invalid_credentials`. A user who is `pending` is refused with 403
/// `insufficient_factor`: an identifier has to be verified first.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/webauthn/verify",
    operation_id = "verifyWebauthn",
    tag = "Passkeys",
    request_body = Request,
    responses((status = 200, description = "The passkey signed its user in", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
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
    Ok(Json(Answer {
        user_id: verified.user_id.to_string(),
        webauthn_credential_id: verified.passkey_id.to_string(),
        session_token: issued.session_token,
        session_jwt: issued.session_jwt,
        session: issued.session,
    }))
}
