//! `POST /v1/auth/users/search`

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use vestry_app::identity::users::SearchUsers;
use vestry_domain::search::{RawCondition, UserFilter};
use vestry_edge::{Call, Code, Json, OptionalBody, Problem};

use crate::v1::shapes::{FoundUser, optional_id};

pub(crate) const ERRORS: &[Code] = &[
    Code::MissingField,
    Code::InvalidField,
    Code::UnknownField,
    Code::Sealed,
];

/// The filter, and the page to return.
#[derive(Deserialize, ToSchema, Default)]
#[schema(as = SearchUsersRequest)]
pub(crate) struct Request {
    /// Maximum number of users on the page, 10 to 100.
    #[schema(minimum = 10, maximum = 100, default = 50)]
    limit: Option<i64>,
    /// Id of the last user of the previous page.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    starting_after: Option<String>,
    /// Filter; all users match if absent.
    filters: Option<Filters>,
}

/// Conditions that users must meet.
#[derive(Deserialize, ToSchema)]
#[schema(as = SearchUsersFiltersInput)]
struct Filters {
    /// `AND` if all of `fields` must hold, `OR` if one is enough.
    #[schema(pattern = "^(AND|OR)$", examples("AND"))]
    operator: String,
    /// Conditions to check, 1 to 20.
    #[schema(min_items = 1, max_items = 20)]
    fields: Vec<FilterField>,
}

/// A search condition.
#[derive(Deserialize, ToSchema)]
#[schema(as = SearchUsersFieldInput)]
struct FilterField {
    /// The field to compare. One of `user_id`, `external_key`, `status`, `full_name_match`, `phone_number`, `phone_number_id`,
    /// `phone_number_match`, `phone_number_verified`, `email`, `email_id`, `email_match`, `email_verified`, `wallet_public_address`,
    /// `wallet_id`, `totp_id`, `totp_verified`, `idp_provider`, `created_at`, or `metadata.` followed by a key.
    #[schema(examples("email"))]
    field: String,
    /// The comparison: `eq` for every field; `in` for fields that are compared as a whole; `lt`, `gt` and `between` for `created_at`.
    #[schema(examples("eq"))]
    operator: String,
    /// Value to compare with: a string, a number, true or false. The lower bound for `between`.
    #[schema(value_type = Option<Object>, examples("ada@example.com"))]
    value: Option<Value>,
    /// Values to compare with, for `in`; one of them must match.
    #[schema(value_type = Option<Vec<Object>>, min_items = 1, max_items = 100)]
    values: Option<Vec<Value>>,
    /// The upper bound, for `between`.
    #[schema(value_type = Option<Object>)]
    second_value: Option<Value>,
}

/// A page of users.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SearchUsersResponse)]
pub(crate) struct Response {
    /// Users on this page, newest first.
    #[schema(max_items = 100)]
    users: Vec<FoundUser>,
    /// Total number of users that match the filter.
    #[schema(minimum = 0)]
    total_count: i64,
    /// Whether there is a next page.
    has_more: bool,
}

/// Search users
///
/// Returns users of the App and environment, newest first. For the next page, send the id of the last user as `starting_after`.
///
/// Needs the scope `users:read`.
#[utoipa::path(
    post,
    path = "/v1/auth/users/search",
    operation_id = "searchUsers",
    tag = "Users",
    request_body(content = Option<Request>, content_type = "application/json"),
    responses((status = 200, description = "A page of users", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    OptionalBody(request): OptionalBody<Request>,
) -> Result<Json<Response>, Problem> {
    let request = request.unwrap_or_default();
    let query = SearchUsers {
        limit: request.limit,
        starting_after: optional_id("starting_after", request.starting_after)?,
        filter: request.filters.map(Filters::check).transpose()?,
    };
    let found = call
        .run(move |service, caller| async move { service.search_users(&caller, query).await })
        .await?;
    Ok(Json(Response {
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
