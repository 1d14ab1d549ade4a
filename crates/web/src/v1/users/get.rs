//! `GET /v1/auth/users/{user_id}`

use vestry_domain::ids::UserId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

use crate::v1::shapes::User;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Sealed];

/// Get a user
///
/// Returns the user with all identifiers, credentials, wallets and metadata.
///
/// Needs the scope `users:read`.
#[utoipa::path(
    get,
    path = "/v1/auth/users/{user_id}",
    operation_id = "getUser",
    tag = "Users",
    params(("user_id" = String, Path, description = "Id of the user", pattern = "^user_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The user", body = User))
)]
pub(crate) async fn handle(call: Call, PathId(id): PathId<UserId>) -> Result<Json<User>, Problem> {
    let user = call
        .run(move |service, caller| async move { service.get_user(&caller, id).await })
        .await?;
    Ok(Json(user.into()))
}
