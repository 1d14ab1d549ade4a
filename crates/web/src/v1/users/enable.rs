//! `POST /v1/auth/users/{user_id}/enable`

use vestry_domain::ids::UserId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

use crate::v1::shapes::User;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Sealed];

/// Enable a user
///
/// The user can sign in again with the same methods as before and returns to the previous `status`.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/users/{user_id}/enable",
    operation_id = "enableUser",
    tag = "Users",
    params(("user_id" = String, Path, description = "Id of the user", pattern = "^user_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The enabled user", body = User))
)]
pub(crate) async fn handle(call: Call, PathId(id): PathId<UserId>) -> Result<Json<User>, Problem> {
    let user = call
        .run(move |service, caller| async move { service.enable_user(&caller, id).await })
        .await?;
    Ok(Json(user.into()))
}
