//! `DELETE /v1/auth/users/emails/{email_id}/delete`

use vestry_domain::ids::EmailId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

use crate::v1::shapes::Deleted;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::LastSignInMethod];

/// Remove an e-mail address
///
/// A user's last sign-in method cannot be removed: 409 `last_sign_in_method`. Codes and links already sent to the address become invalid.
///
/// Unless the App's settings say otherwise, the user's sessions end and the verified addresses are notified.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    delete,
    path = "/v1/auth/users/emails/{email_id}/delete",
    operation_id = "deleteUserEmail",
    tag = "Users",
    params(("email_id" = String, Path, description = "Id of the e-mail address", pattern = "^email_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The address was removed", body = Deleted))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<EmailId>,
) -> Result<Json<Deleted>, Problem> {
    let user = call
        .run(move |service, caller| async move { service.delete_email(&caller, id).await })
        .await?;
    Ok(Json(Deleted::of(user, "Successfully deleted user email")))
}
