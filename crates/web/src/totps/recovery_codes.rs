//! `POST /v1/auth/totps/recovery_codes`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::totps::TotpRecoveryCodes;
use vestry_domain::ids::UserId;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::parse_id;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Sealed];

/// Whose recovery codes.
#[derive(Deserialize, ToSchema)]
#[schema(as = TotpRecoveryCodesRequest)]
pub(crate) struct Request {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
}

/// The recovery codes that are left.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TotpRecoveryCodesResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The user's authenticator apps, oldest first.
    totps: Vec<Codes>,
}

/// An authenticator app with the recovery codes that were not used.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TotpWithRecoveryCodes)]
struct Codes {
    #[schema(pattern = "^totp_[0-9A-Za-z]{27}$")]
    id: String,
    /// Whether a code was verified; the recovery codes count from then on.
    verified: bool,
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
/// The unused recovery codes of a user. Whoever can read them can sign in with them: ask for a fresh factor first.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/totps/recovery_codes",
    operation_id = "showRecoveryCodes",
    tag = "Authenticator apps",
    request_body = Request,
    responses((status = 200, description = "The unused codes", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let user_id: UserId = parse_id("user_id", &request.user_id)?;
    let shown = call
        .run(move |service, caller| async move { service.recovery_codes(&caller, user_id).await })
        .await?;
    Ok(Json(Answer {
        user_id: user_id.to_string(),
        totps: shown.into_iter().map(Codes::from).collect(),
    }))
}
