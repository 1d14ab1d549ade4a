//! `DELETE /v1/auth/users/phone_number/{pn_id}/delete`

use vestry_domain::ids::PhoneNumberId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

use super::delete_phone_number;
use crate::v1::shapes::Deleted;

pub(crate) const ERRORS: &[Code] = delete_phone_number::ERRORS;

/// Remove a phone number (alias path)
///
/// Alias of `/v1/auth/users/phone_numbers/{pn_id}/delete`, for clients that use this path.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    delete,
    path = "/v1/auth/users/phone_number/{pn_id}/delete",
    operation_id = "deleteUserPhoneNumberAlias",
    tag = "Users",
    params(("pn_id" = String, Path, description = "Id of the phone number", pattern = "^pn_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The number was removed", body = Deleted))
)]
pub(crate) async fn handle(
    call: Call,
    id: PathId<PhoneNumberId>,
) -> Result<Json<Deleted>, Problem> {
    delete_phone_number::handle(call, id).await
}
