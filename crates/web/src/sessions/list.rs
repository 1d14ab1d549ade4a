//! `GET /v1/auth/sessions/list`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vestry_app::sessions::SessionObject;
use vestry_domain::Invalid;

use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::shapes::{Session, parse_id};

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::NotFound];

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Whose sessions.
    #[param(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// `ended`: those that have ended as well. They are stored for seven days.
    #[param(pattern = "^ended$", nullable = false)]
    include: Option<String>,
}

/// Where a user is signed in, or was.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SessionListResponse)]
pub(crate) struct Answer {
    /// Newest first.
    #[schema(value_type = Vec<Session>)]
    sessions: Vec<SessionObject>,
}

/// List a user's sessions
///
/// The sessions that are alive, newest first, without their tokens. With `include=ended` those that have ended as well, by deletion,
/// by their time or for being idle, up to seven days after it.
///
/// Needs the scope `sessions:write`.
#[utoipa::path(
    get,
    path = "/v1/auth/sessions/list",
    operation_id = "listSessions",
    tag = "Sessions",
    params(Filter),
    responses((status = 200, description = "The sessions", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Query(filter): Query<Filter>,
) -> Result<Json<Answer>, Problem> {
    let user_id = parse_id("user_id", &filter.user_id)?;
    let with_ended = match filter.include.as_deref() {
        None => false,
        Some("ended") => true,
        Some(_) => return Err(Invalid::value("include", "include must be ended").into()),
    };
    let sessions = call
        .run(move |service, caller| async move {
            match with_ended {
                true => service.list_sessions_with_ended(&caller, user_id).await,
                false => service.list_sessions(&caller, user_id).await,
            }
        })
        .await?;
    let sessions = sessions.iter().map(SessionObject::of).collect();
    Ok(Json(Answer { sessions }))
}
