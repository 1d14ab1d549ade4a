//! `POST /v1/auth/totps/recovery`

use serde::Deserialize;
use utoipa::ToSchema;
use vestry_app::identity::totps::{PresentedTotp, VerifyTotp};
use vestry_domain::totp::canonical_recovery_code;
use vestry_domain::{Invalid, Secret};
use vestry_edge::{Body, Call, Code, Json, Problem};

use super::verify;
use crate::v1::shapes::{Device, parse_id, request_with_session, session_fields};

pub(crate) const ERRORS: &[Code] = verify::ERRORS;

request_with_session! {
    /// The recovery code to verify, and how to handle the session.
    #[derive(Deserialize, ToSchema)]
    #[schema(as = TotpRecoveryRequest)]
    pub(crate) struct Request {
        /// Id of the user.
        #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
        user_id: String,
        /// One of the recovery codes. Hyphens, spaces and case are ignored.
        #[schema(examples("0a1b2-c3d4e"))]
        #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
        recovery_code: Option<String>,
        /// Alternative name of `recovery_code`. Six digits are treated as a code of the authenticator app.
        #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
        totp: Option<String>,
    }
}

/// Verify a recovery code
///
/// A recovery code can be used once, instead of a code of a verified authenticator app. Send exactly one of `recovery_code` and `totp`.
///
/// Errors are those of `totps/verify`, but failures are counted separately.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/totps/recovery",
    operation_id = "recoverTotp",
    tag = "Authenticator apps",
    request_body = Request,
    responses((status = 200, description = "The code was correct", body = verify::Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<verify::Response>, Problem> {
    let command = VerifyTotp {
        user_id: parse_id("user_id", &request.user_id)?,
        presented: presented(request.recovery_code, request.totp)?,
        session_fields: session_fields!(request),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let verified = call
        .run(|service, caller| async move { service.verify_totp(&caller, command).await })
        .await?;
    Ok(Json(verified.into()))
}

fn presented(
    recovery_code: Option<String>,
    totp: Option<String>,
) -> Result<PresentedTotp, Invalid> {
    match (recovery_code, totp) {
        (Some(code), None) => Ok(PresentedTotp::RecoveryCode(Secret::new(code))),
        // Both names stand for the recovery code, but a value that cannot be one may still be a code of the authenticator app.
        (None, Some(code)) if canonical_recovery_code(&code).is_some() => {
            Ok(PresentedTotp::RecoveryCode(Secret::new(code)))
        }
        (None, Some(code)) => Ok(PresentedTotp::Code(Secret::new(code))),
        (None, None) => Err(Invalid::missing("recovery_code")),
        (Some(_), Some(_)) => Err(Invalid::value(
            "totp",
            "send only one of recovery_code and totp",
        )),
    }
}
