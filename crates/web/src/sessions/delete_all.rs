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

pub(crate) const ERRORS: &[Code] = &[Code::MissingField, Code::InvalidField, Code::NotFound];

/// Whose sessions: exactly one of the two.
#[derive(Deserialize, ToSchema, Default)]
#[schema(as = SessionDeleteAllRequest)]
pub(crate) struct Request {
    /// Those of one user; `""` is the same as nothing.
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    user_id: Option<String>,
    /// True: those of every user of the key's App and environment. False is the same as nothing.
    all: Option<bool>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Whose sessions, when the body does not say it.
    #[param(pattern = "^user_[0-9A-Za-z]{27}$", nullable = false)]
    user_id: Option<String>,
    /// Those of every user, when the body does not say it.
    #[param(nullable = false)]
    all: Option<bool>,
}

/// The sessions are over.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SessionDeleteAllResponse)]
pub(crate) struct Answer {
    #[schema(min_length = 1)]
    message: &'static str,
    /// `""` for those of every user.
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    user_id: String,
    /// How many sessions this call ended.
    #[schema(minimum = 0)]
    deleted_count: u64,
}

/// End all sessions, of a user or of everybody
///
/// Exactly one of `user_id` and `all` is named, in the body or, where that names neither, in the query. With `"all": true` everybody of
/// the key's App and environment is signed out, some hundred sessions after the other; a failure in between leaves those that have
/// ended ended, and the same call goes on.
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
    let user = whose(request.unwrap_or_default(), filter)?;
    let deleted_count = call
        .run(move |service, caller| async move {
            match user {
                Some(user) => service.delete_all_sessions(&caller, user).await,
                None => service.delete_every_session(&caller).await,
            }
        })
        .await?;
    Ok(Json(match user {
        Some(user) => Answer {
            message: "Successfully deleted all sessions of the user",
            user_id: user.to_string(),
            deleted_count,
        },
        None => Answer {
            message: "Successfully deleted all sessions",
            user_id: String::new(),
            deleted_count,
        },
    }))
}

/// The user who is named; `None` where everybody is, and that explicitly.
fn whose(request: Request, filter: Filter) -> Result<Option<UserId>, Invalid> {
    let named = |user: &Option<String>, all: Option<bool>| user.is_some() || all == Some(true);
    let (user, all) = match named(&request.user_id, request.all) {
        true => (request.user_id, request.all),
        false => (filter.user_id, filter.all),
    };
    match (user, all == Some(true)) {
        (Some(user), false) => Ok(Some(parse_id("user_id", &user)?)),
        (None, true) => Ok(None),
        (Some(_), true) => Err(Invalid::value("all", "send only one of user_id and all")),
        (None, false) => Err(Invalid {
            message: "user_id is required, or all: true for the sessions of everybody".into(),
            ..Invalid::missing("user_id")
        }),
    }
}
