//! `DELETE /v1/auth/users/phone_numbers/{pn_id}/delete`

use vestry_domain::ids::PhoneNumberId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

use crate::v1::shapes::Deleted;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::LastSignInMethod];

/// Remove a phone number
///
/// A user's last sign-in method cannot be removed: 409 `last_sign_in_method`. Codes and links already sent to the number become invalid.
///
/// Unless the App's settings say otherwise, the user's sessions end and the verified addresses are notified.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    delete,
    path = "/v1/auth/users/phone_numbers/{pn_id}/delete",
    operation_id = "deleteUserPhoneNumber",
    tag = "Users",
    params(("pn_id" = String, Path, description = "Id of the phone number", pattern = "^pn_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The number was removed", body = Deleted))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<PhoneNumberId>,
) -> Result<Json<Deleted>, Problem> {
    let user = call
        .run(move |service, caller| async move { service.delete_phone_number(&caller, id).await })
        .await?;
    Ok(Json(Deleted::of(
        user,
        "Successfully deleted user phone number",
    )))
}
