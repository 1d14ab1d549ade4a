//! `DELETE /v1/auth/sessions/delete_all`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vestry_domain::Invalid;
use vestry_domain::ids::UserId;

use crate::body::OptionalBody;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::shapes::parse_id;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound];

/// Whose sessions.
#[derive(Deserialize, ToSchema)]
#[schema(as = SessionDeleteAllRequest)]
pub(crate) struct Request {
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    user_id: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Whose sessions, when the body does not say it.
    #[param(pattern = "^user_[0-9A-Za-z]{27}$", nullable = false)]
    user_id: Option<String>,
}

/// The sessions are over.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SessionDeleteAllResponse)]
pub(crate) struct Answer {
    #[schema(min_length = 1)]
    message: &'static str,
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// How many sessions this call ended.
    #[schema(minimum = 0)]
    deleted_count: u64,
}

/// End all sessions of a user
///
/// The user is named in the body or, where that does not do it, in the query.
///
/// Needs the scope `sessions:write`.
#[utoipa::path(
    delete,
    path = "/v1/auth/sessions/delete_all",
    operation_id = "deleteAllSessions",
    tag = "Sessions",
    params(Filter),
    request_body(content = Option<Request>, content_type = "application/json"),
    responses((status = 200, description = "The sessions are over", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Query(filter): Query<Filter>,
    OptionalBody(request): OptionalBody<Request>,
) -> Result<Json<Answer>, Problem> {
    let named = request
        .and_then(|request| request.user_id)
        .or(filter.user_id);
    let named = named.ok_or_else(|| Invalid::missing("user_id"))?;
    let user_id: UserId = parse_id("user_id", &named)?;
    let deleted_count =
        call.run(move |service, caller| async move {
            service.delete_all_sessions(&caller, user_id).await
        })
        .await?;
    Ok(Json(Answer {
        message: "Successfully deleted all sessions of the user",
        user_id: user_id.to_string(),
        deleted_count,
    }))
}
