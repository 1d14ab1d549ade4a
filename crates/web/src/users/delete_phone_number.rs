//! `DELETE /v1/auth/users/phone_numbers/{pn_id}/delete`

use actix_web::web::Json;
use vestry_domain::ids::PhoneNumberId;

use crate::call::Call;
use crate::path::PathId;
use crate::problem::{Code, Problem};
use crate::shapes::Deleted;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::LastSignInMethod];

/// Remove a phone number
///
/// The last way in which a user can sign in cannot be removed: 409 `last_sign_in_method`. Codes and links that were sent there are
/// dead. The user's sessions end and its verified addresses are told, unless the App set otherwise.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    delete,
    path = "/v1/auth/users/phone_numbers/{pn_id}/delete",
    operation_id = "deleteUserPhoneNumber",
    tag = "Users",
    params(("pn_id" = String, Path, description = "Id of the phone number", pattern = "^pn_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "It is gone", body = Deleted))
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
