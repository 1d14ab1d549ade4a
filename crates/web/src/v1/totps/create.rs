//! `POST /v1/auth/totps/create`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::totps::CreateTotp;
use vestry_edge::{Body, Call, Code, Json, Problem};

use super::qr;
use crate::v1::shapes::parse_id;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Sealed];

/// The user who gets an authenticator app.
#[derive(Deserialize, ToSchema)]
#[schema(as = TotpCreateRequest)]
pub(crate) struct Request {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Minutes within which the first code must be verified. Default: 30.
    #[schema(minimum = 5, maximum = 2_160, examples(30))]
    expires_in: Option<i64>,
}

/// The secret and recovery codes for the end user. Only the recovery codes can be read again.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TotpCreateResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Id of the authenticator app.
    #[schema(pattern = "^totp_[0-9A-Za-z]{27}$")]
    totp_id: String,
    /// The secret for manual entry: 160 bits, in base32.
    #[schema(pattern = "^[A-Z2-7]{32}$")]
    secret: String,
    /// Recovery codes. Each can be used once if the authenticator app is lost.
    #[schema(min_items = 16, max_items = 16)]
    recovery_codes: Vec<String>,
    /// QR code as a PNG in base64: the `otpauth` URI with the secret and the App's name.
    #[schema(min_length = 1, pattern = "^[0-9A-Za-z+/]+={0,2}$")]
    qr_base64: String,
}

/// Create an authenticator app
///
/// Generates a secret and recovery codes for a user. They are not a factor until a first code is verified within `expires_in`. Until then,
/// another `create` for the same user replaces them.
///
/// A user can have at most five verified authenticator apps.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/totps/create",
    operation_id = "createTotp",
    tag = "Authenticator apps",
    request_body = Request,
    responses((status = 200, description = "The authenticator app; its first code has yet to be verified", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = CreateTotp {
        user_id: parse_id("user_id", &request.user_id)?,
        expires_in: request.expires_in,
    };
    let created = call
        .run(move |service, caller| async move { service.create_totp(&caller, command).await })
        .await?;
    Ok(Json(Response {
        user_id: created.totp.user_id.to_string(),
        totp_id: created.totp.id.to_string(),
        secret: created.secret.expose().clone(),
        recovery_codes: created
            .recovery_codes
            .iter()
            .map(|code| code.expose().clone())
            .collect(),
        qr_base64: qr::png_base64(created.key_uri.expose()).map_err(Problem::internal)?,
    }))
}
