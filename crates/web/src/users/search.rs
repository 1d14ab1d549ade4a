//! `POST /v1/auth/users/search`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use vestry_app::users::SearchUsers;
use vestry_domain::search::{RawCondition, UserFilter};

use crate::body::OptionalBody;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{FoundUser, parse_id};

pub(crate) const ERRORS: &[Code] = &[
    Code::MissingField,
    Code::InvalidField,
    Code::UnknownField,
    Code::Sealed,
];

/// Which users, and which page of them.
#[derive(Deserialize, ToSchema, Default)]
#[schema(as = SearchUsersRequest)]
pub(crate) struct Request {
    /// Most users on the page.
    #[schema(minimum = 10, maximum = 100, default = 50)]
    limit: Option<i64>,
    /// The last user of the page before.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    starting_after: Option<String>,
    /// All users when absent.
    filters: Option<Filters>,
}

/// What must hold of a user.
#[derive(Deserialize, ToSchema)]
#[schema(as = SearchUsersFiltersInput)]
struct Filters {
    /// Whether all of `fields` must hold, or one of them.
    #[schema(pattern = "^(AND|OR)$", examples("AND"))]
    operator: String,
    #[schema(min_items = 1, max_items = 20)]
    fields: Vec<FilterField>,
}

/// One condition.
#[derive(Deserialize, ToSchema)]
#[schema(as = SearchUsersFieldInput)]
struct FilterField {
    /// `user_id`, `external_key`, `status`, `full_name_match`, `phone_number`, `phone_number_id`, `phone_number_match`,
    /// `phone_number_verified`, `email`, `email_id`, `email_match`, `email_verified`, `wallet_public_address`, `wallet_id`,
    /// `totp_id`, `totp_verified`, `idp_provider`, `created_at`, or `metadata.` and a key.
    #[schema(examples("email"))]
    field: String,
    /// `eq` for every field; `in` for those that are compared as a whole; `lt`, `gt` and `between` for `created_at`.
    #[schema(examples("eq"))]
    operator: String,
    /// What to compare with: a text, a number, true or false. The lower end for `between`.
    #[schema(value_type = Option<Object>, examples("ada@example.com"))]
    value: Option<Value>,
    /// What to compare with, for `in`; one of them must fit.
    #[schema(value_type = Option<Vec<Object>>, min_items = 1, max_items = 100)]
    values: Option<Vec<Value>>,
    /// The upper end, for `between`.
    #[schema(value_type = Option<Object>)]
    second_value: Option<Value>,
}

/// A page of users.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SearchUsersResponse)]
pub(crate) struct Answer {
    /// Newest first.
    #[schema(max_items = 100)]
    users: Vec<FoundUser>,
    /// How many users fit the filter in all.
    #[schema(minimum = 0)]
    total_count: i64,
    /// Whether there is a next page.
    has_more: bool,
}

/// Search users
///
/// Users of the App and environment, newest first. For the next page, send the id of the last user as `starting_after`.
///
/// Needs the scope `users:read`.
#[utoipa::path(
    post,
    path = "/v1/auth/users/search",
    operation_id = "searchUsers",
    tag = "Users",
    request_body(content = Option<Request>, content_type = "application/json"),
    responses((status = 200, description = "A page of users", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    OptionalBody(request): OptionalBody<Request>,
) -> Result<Json<Answer>, Problem> {
    let request = request.unwrap_or_default();
    let query = SearchUsers {
        limit: request.limit,
        starting_after: request
            .starting_after
            .map(|id| parse_id("starting_after", &id))
            .transpose()?,
        filter: request.filters.map(Filters::check).transpose()?,
    };
    let found = call
        .run(move |service, caller| async move { service.search_users(&caller, query).await })
        .await?;
    Ok(Json(Answer {
        users: found.users.into_iter().map(FoundUser::from).collect(),
        total_count: found.total_count,
        has_more: found.has_more,
    }))
}

impl Filters {
    fn check(self) -> Result<UserFilter, vestry_domain::Invalid> {
        let fields = self.fields.into_iter().map(|field| RawCondition {
            field: field.field,
            operator: field.operator,
            value: field.value,
            values: field.values,
            second_value: field.second_value,
        });
        UserFilter::parse(&self.operator, &fields.collect::<Vec<_>>())
    }
}
