//! `DELETE /v1/auth/sessions/delete`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_domain::session::SessionSelector;
use vestry_domain::{Invalid, Secret};
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::parse_id;

pub(crate) const ERRORS: &[Code] = &[Code::InvalidSession, Code::NotFound];

/// The session to end: exactly one of the three fields. `""` counts as absent.
#[derive(Deserialize, ToSchema)]
#[schema(as = SessionDeleteRequest)]
pub(crate) struct Request {
    /// Token of the session.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_token: Option<String>,
    /// A JWT of the session, which may have expired within the App's `jwt_renewal_window`.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_jwt: Option<String>,
    /// Id of the session.
    #[schema(pattern = "^(sess_[0-9A-Za-z]{27})?$")]
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    session_id: Option<String>,
}

/// Confirmation that a session was ended.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SessionDeleteResponse)]
pub(crate) struct Response {
    /// Confirmation for people; it may change.
    #[schema(min_length = 1)]
    message: &'static str,
}

/// End a session
///
/// Takes effect at once for all calls of this service. A token or JWT without a live session returns 401; an id without one returns 404.
///
/// Needs the scope `sessions:write`.
#[utoipa::path(
    delete,
    path = "/v1/auth/sessions/delete",
    operation_id = "deleteSession",
    tag = "Sessions",
    request_body = Request,
    responses((status = 200, description = "The session was ended", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let selector = request.selector()?;
    call.run(|service, caller| async move { service.delete_session(&caller, selector).await })
        .await?;
    Ok(Json(Response {
        message: "Successfully deleted session",
    }))
}

impl Request {
    fn selector(self) -> Result<SessionSelector, Invalid> {
        match (self.session_token, self.session_jwt, self.session_id) {
            (Some(token), None, None) => Ok(SessionSelector::Token(Secret::new(token))),
            (None, Some(jwt), None) => Ok(SessionSelector::Jwt(Secret::new(jwt))),
            (None, None, Some(id)) => Ok(SessionSelector::Id(parse_id("session_id", &id)?)),
            (None, None, None) => Err(Invalid {
                message: "session_token, session_jwt or session_id is required".into(),
                ..Invalid::missing("session_token")
            }),
            (first, second, _) => {
                let param = match (first, second) {
                    (Some(_), Some(_)) => "session_jwt",
                    _ => "session_id",
                };
                Err(Invalid::value(
                    param,
                    "send only one of session_token, session_jwt and session_id",
                ))
            }
        }
    }
}
