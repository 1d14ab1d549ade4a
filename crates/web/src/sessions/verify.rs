//! `POST /v1/auth/sessions/verify`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::sessions::{SessionObject, VerifySession};
use vestry_domain::Secret;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, Session};

pub(crate) const ERRORS: &[Code] = &[Code::InvalidSession, Code::Sealed];

/// Which session; `session_token`, `session_jwt`, or both for the same session.
#[derive(Deserialize, ToSchema)]
#[schema(as = SessionVerifyRequest)]
pub(crate) struct Request {
    /// The session's token.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_token: Option<String>,
    /// One of its JWTs, also an expired one within the App's `jwt_renewal_window`.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_jwt: Option<String>,
    /// Minutes from now at which the session shall end.
    #[schema(minimum = 5, maximum = 525_600, examples(60))]
    session_expires_in: Option<i64>,
    /// Strings that the session and its JWTs carry for the App from now on; as before when absent.
    #[schema(max_items = 50)]
    permissions: Option<Vec<String>>,
    /// The end user's device.
    device_fingerprint: Option<Device>,
}

/// The session is alive.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SessionVerifyResponse)]
pub(crate) struct Answer {
    /// The token of the request; `""` when only a JWT was sent.
    session_token: String,
    /// A JWT for callers that verify offline, with nine tenths of its life before it at least, unless the session ends earlier. It
    /// shows the end of a session only when it expires itself.
    #[schema(min_length = 1)]
    session_jwt: String,
    #[schema(value_type = Session)]
    session: SessionObject,
}

/// Verify a session
///
/// Whether the session is alive: not ended, not past its end, not idle for too long. A session that was ended fails here
/// at once, whatever its JWTs say.
///
/// Needs the scope `sessions:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/sessions/verify",
    operation_id = "verifySession",
    tag = "Sessions",
    request_body = Request,
    responses((status = 200, description = "The session is alive", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = VerifySession {
        session_token: request.session_token.map(Secret::new),
        session_jwt: request.session_jwt.map(Secret::new),
        session_expires_in: request.session_expires_in,
        permissions: request.permissions,
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let verified = match call.on_the_worker() {
        Some((service, caller)) => service.verify_session_at_once(caller, &command).await,
        None => None,
    };
    let verified = match verified {
        Some(verified) => verified?,
        None => {
            call.run(
                |service, caller| async move { service.verify_session(&caller, command).await },
            )
            .await?
        }
    };
    Ok(Json(Answer {
        session_token: verified
            .token
            .map(|token| token.expose().clone())
            .unwrap_or_default(),
        session_jwt: verified.jwt.expose().clone(),
        session: verified.object,
    }))
}
