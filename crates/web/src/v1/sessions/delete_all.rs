//! `DELETE /v1/auth/sessions/delete_all`

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vestry_domain::Invalid;
use vestry_domain::ids::UserId;
use vestry_edge::{Call, Code, Json, OptionalBody, Problem, Query};

use crate::v1::shapes::parse_id;

pub(crate) const ERRORS: &[Code] = &[Code::MissingField, Code::InvalidField, Code::NotFound];

/// The sessions to end: exactly one of the two fields.
#[derive(Deserialize, ToSchema, Default)]
#[schema(as = SessionDeleteAllRequest)]
pub(crate) struct Request {
    /// Ends the sessions of this user; `""` counts as absent.
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    user_id: Option<String>,
    /// Whether to end the sessions of every user in the key's App and environment. `false` counts as absent.
    all: Option<bool>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Ends the sessions of this user, if the body names neither field.
    #[param(pattern = "^user_[0-9A-Za-z]{27}$", nullable = false)]
    user_id: Option<String>,
    /// Whether to end the sessions of every user, if the body names neither field.
    #[param(nullable = false)]
    all: Option<bool>,
}

/// Confirmation that sessions were ended.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SessionDeleteAllResponse)]
pub(crate) struct Response {
    /// Confirmation for people; it may change.
    #[schema(min_length = 1)]
    message: &'static str,
    /// Id of the user; `""` if the sessions of every user were ended.
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    user_id: String,
    /// Number of sessions that this call ended.
    #[schema(minimum = 0)]
    deleted_count: u64,
}

/// End all sessions of one user or of every user
///
/// Send exactly one of `user_id` and `all`, in the body or, if the body has neither, in the query.
///
/// With `"all": true`, every user in the key's App and environment is signed out, in batches of some hundred sessions. If the call fails
/// midway, sessions already ended stay ended; repeat the call to continue.
///
/// Needs the scope `sessions:write`.
#[utoipa::path(
    delete,
    path = "/v1/auth/sessions/delete_all",
    operation_id = "deleteAllSessions",
    tag = "Sessions",
    params(Filter),
    request_body(content = Option<Request>, content_type = "application/json"),
    responses((status = 200, description = "The sessions were ended", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Query(filter): Query<Filter>,
    OptionalBody(request): OptionalBody<Request>,
) -> Result<Json<Response>, Problem> {
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
        Some(user) => Response {
            message: "Successfully deleted all sessions of the user",
            user_id: user.to_string(),
            deleted_count,
        },
        None => Response {
            message: "Successfully deleted all sessions",
            user_id: String::new(),
            deleted_count,
        },
    }))
}

/// The user whose sessions to end; `None` for every user, which must be requested explicitly.
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
            message: "user_id is required, or all: true to end the sessions of every user".into(),
            ..Invalid::missing("user_id")
        }),
    }
}
