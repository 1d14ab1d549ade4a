//! `DELETE /v1/auth/users/idp_providers/{idpuser_id}/delete`

use vestry_domain::ids::ProviderLinkId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

use crate::v1::shapes::Deleted;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::LastSignInMethod, Code::Sealed];

/// Unlink an identity provider
///
/// A user's last sign-in method cannot be removed: 409 `last_sign_in_method`. Unless the App's settings say otherwise, the user's sessions
/// end.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    delete,
    path = "/v1/auth/users/idp_providers/{idpuser_id}/delete",
    operation_id = "deleteUserIdpProvider",
    tag = "Users",
    params(("idpuser_id" = String, Path, description = "Id of the link", pattern = "^idpuser_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The link was removed", body = Deleted))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<ProviderLinkId>,
) -> Result<Json<Deleted>, Problem> {
    let deleted = call
        .run(move |service, caller| async move { service.delete_provider_link(&caller, id).await })
        .await?;
    Ok(Json(Deleted::of(
        deleted.user_id,
        "Successfully deleted user idp_provider",
    )))
}
