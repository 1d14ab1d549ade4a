//! `DELETE /v1/auth/users/{user_id}/delete`

use vestry_domain::ids::UserId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

use crate::v1::shapes::Deleted;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound];

/// Delete a user
///
/// Permanently deletes the user and everything that belongs to it: addresses, numbers, credentials, sessions, and wallets with their keys.
/// Assets that those wallets hold on their chains can never be moved again.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    delete,
    path = "/v1/auth/users/{user_id}/delete",
    operation_id = "deleteUser",
    tag = "Users",
    params(("user_id" = String, Path, description = "Id of the user", pattern = "^user_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The user was deleted", body = Deleted))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<UserId>,
) -> Result<Json<Deleted>, Problem> {
    call.run(move |service, caller| async move { service.delete_user(&caller, id).await })
        .await?;
    Ok(Json(Deleted::of(id, "Successfully deleted user")))
}
