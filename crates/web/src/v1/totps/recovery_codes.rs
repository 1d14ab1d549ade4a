//! `POST /v1/auth/totps/recovery_codes`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::totps::TotpRecoveryCodes;
use vestry_domain::ids::UserId;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::parse_id;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Sealed];

/// The user whose recovery codes to show.
#[derive(Deserialize, ToSchema)]
#[schema(as = TotpRecoveryCodesRequest)]
pub(crate) struct Request {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
}

/// The unused recovery codes of a user.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TotpRecoveryCodesResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The user's authenticator apps, oldest first.
    totps: Vec<Codes>,
}

/// An authenticator app and its unused recovery codes.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TotpWithRecoveryCodes)]
struct Codes {
    /// Id of the authenticator app.
    #[schema(pattern = "^totp_[0-9A-Za-z]{27}$")]
    id: String,
    /// Whether a code of the app was verified. The recovery codes are valid only if it was.
    verified: bool,
    /// Unused recovery codes of the app.
    #[schema(max_items = 16)]
    recovery_codes: Vec<String>,
}

impl From<TotpRecoveryCodes> for Codes {
    fn from(shown: TotpRecoveryCodes) -> Self {
        Self {
            id: shown.totp.id.to_string(),
            verified: shown.totp.verified,
            recovery_codes: shown
                .recovery_codes
                .iter()
                .map(|code| code.expose().clone())
                .collect(),
        }
    }
}

/// Show recovery codes
///
/// Returns the unused recovery codes of a user. They can be used to sign in, so require a recently verified factor before you show them.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/totps/recovery_codes",
    operation_id = "showRecoveryCodes",
    tag = "Authenticator apps",
    request_body = Request,
    responses((status = 200, description = "The unused codes", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let user_id: UserId = parse_id("user_id", &request.user_id)?;
    let shown = call
        .run(move |service, caller| async move { service.recovery_codes(&caller, user_id).await })
        .await?;
    Ok(Json(Response {
        user_id: user_id.to_string(),
        totps: shown.into_iter().map(Codes::from).collect(),
    }))
}
