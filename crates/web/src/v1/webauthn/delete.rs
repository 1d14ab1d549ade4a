//! `DELETE /v1/auth/users/webauthn_credentials/{webauthn_id}/delete`

use serde::Serialize;
use utoipa::ToSchema;
use vestry_domain::ids::WebauthnCredentialId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::LastSignInMethod, Code::Sealed];

/// Confirmation that a passkey was deleted.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WebauthnCredentialDeleteResponse)]
pub(crate) struct Response {
    /// Confirmation for people; it may change.
    #[schema(min_length = 1)]
    message: &'static str,
    /// Id of the user that the passkey belonged to.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
}

/// Delete a passkey
///
/// A user's last sign-in method cannot be removed: 409 `last_sign_in_method`. Unless the App's settings say otherwise, the user's sessions
/// end.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    delete,
    path = "/v1/auth/users/webauthn_credentials/{webauthn_id}/delete",
    operation_id = "deleteWebauthnCredential",
    tag = "Passkeys",
    params(("webauthn_id" = String, Path, description = "Id of the passkey", pattern = "^webauthn_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The passkey was deleted", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<WebauthnCredentialId>,
) -> Result<Json<Response>, Problem> {
    let deleted = call
        .run(move |service, caller| async move { service.delete_passkey(&caller, id).await })
        .await?;
    Ok(Json(Response {
        message: "Successfully deleted user webauthn_credential",
        user_id: deleted.user_id.to_string(),
    }))
}
