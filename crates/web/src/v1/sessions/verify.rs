//! `POST /v1/auth/sessions/verify`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::sessions::{SessionObject, VerifySession};
use vestry_domain::Secret;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{Device, Session};

pub(crate) const ERRORS: &[Code] = &[Code::InvalidSession, Code::Sealed];

/// The session to verify: `session_token`, `session_jwt`, or both for the same session.
#[derive(Deserialize, ToSchema)]
#[schema(as = SessionVerifyRequest)]
pub(crate) struct Request {
    /// Token of the session.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_token: Option<String>,
    /// A JWT of the session, which may have expired within the App's `jwt_renewal_window`.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_jwt: Option<String>,
    /// New end of the session, in minutes from now.
    #[schema(minimum = 5, maximum = 525_600, examples(60))]
    session_expires_in: Option<i64>,
    /// Strings that the session and its JWTs carry for the App from now on; unchanged if absent.
    #[schema(max_items = 50)]
    permissions: Option<Vec<String>>,
    /// The end user's device.
    device_fingerprint: Option<Device>,
}

/// A live session.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SessionVerifyResponse)]
pub(crate) struct Response {
    /// Token from the request; `""` if only a JWT was sent.
    session_token: String,
    /// A JWT for offline verification. At least nine tenths of its lifetime remain, unless the session ends earlier.
    ///
    /// An offline verifier notices the end of the session only when the JWT expires.
    #[schema(min_length = 1)]
    session_jwt: String,
    #[schema(value_type = Session)]
    session: SessionObject,
}

/// Verify a session
///
/// Checks that the session was not ended, has not expired and has not timed out. A session that was ended fails at once, regardless of its
/// JWTs.
///
/// Needs the scope `sessions:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/sessions/verify",
    operation_id = "verifySession",
    tag = "Sessions",
    request_body = Request,
    responses((status = 200, description = "The session is live", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
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
    Ok(Json(Response {
        session_token: verified
            .token
            .map(|token| token.expose().clone())
            .unwrap_or_default(),
        session_jwt: verified.jwt.expose().clone(),
        session: verified.object,
    }))
}
