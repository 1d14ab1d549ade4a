//! `POST /v1/auth/users/{user_id}/unlock`

use vestry_domain::ids::UserId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

use crate::v1::shapes::User;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Sealed];

/// Unlock a user
///
/// Clears the user's lockouts after wrong codes, links or passwords, for all of the user's sign-in methods. It does not sign the user in.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/users/{user_id}/unlock",
    operation_id = "unlockUser",
    tag = "Users",
    params(("user_id" = String, Path, description = "Id of the user", pattern = "^user_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The user", body = User))
)]
pub(crate) async fn handle(call: Call, PathId(id): PathId<UserId>) -> Result<Json<User>, Problem> {
    let user = call
        .run(move |service, caller| async move { service.unlock_user(&caller, id).await })
        .await?;
    Ok(Json(user.into()))
}
