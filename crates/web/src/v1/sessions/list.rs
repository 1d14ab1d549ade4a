//! `GET /v1/auth/sessions/list`

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vestry_app::identity::sessions::{ListSessions, SessionObject};
use vestry_domain::Invalid;
use vestry_edge::{Call, Code, Json, Problem, Query};

use crate::v1::shapes::{Session, optional_id, parse_id};

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::NotFound];

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Id of the user whose sessions to list.
    #[param(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// `ended` to include ended sessions, which are kept for seven days.
    #[param(pattern = "^ended$", nullable = false)]
    include: Option<String>,
    /// Maximum number of sessions on the page, 10 to 100.
    #[param(minimum = 10, maximum = 100, default = 50, nullable = false)]
    limit: Option<i64>,
    /// Id of the last session of the previous page.
    #[param(pattern = "^sess_[0-9A-Za-z]{27}$", nullable = false)]
    starting_after: Option<String>,
}

/// A page of a user's sessions.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SessionListResponse)]
pub(crate) struct Response {
    /// Sessions on this page, newest first.
    #[schema(value_type = Vec<Session>, max_items = 100)]
    sessions: Vec<SessionObject>,
    /// Whether there is a next page.
    has_more: bool,
}

/// List a user's sessions
///
/// Returns the user's live sessions, newest first, without their tokens. For the next page, send the id of the last session as
/// `starting_after`.
///
/// With `include=ended`, the list also contains sessions that were deleted, expired or timed out, for up to seven days.
///
/// Needs the scope `sessions:write`.
#[utoipa::path(
    get,
    path = "/v1/auth/sessions/list",
    operation_id = "listSessions",
    tag = "Sessions",
    params(Filter),
    responses((status = 200, description = "A page of sessions", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Query(filter): Query<Filter>,
) -> Result<Json<Response>, Problem> {
    let query = ListSessions {
        user_id: parse_id("user_id", &filter.user_id)?,
        with_ended: match filter.include.as_deref() {
            None => false,
            Some("ended") => true,
            Some(_) => return Err(Invalid::value("include", "include must be \"ended\"").into()),
        },
        limit: filter.limit,
        starting_after: optional_id("starting_after", filter.starting_after)?,
    };
    let page = call
        .run(move |service, caller| async move { service.list_sessions(&caller, query).await })
        .await?;
    Ok(Json(Response {
        sessions: page.sessions.iter().map(SessionObject::of).collect(),
        has_more: page.has_more,
    }))
}
