//! `DELETE /v1/auth/users/totps/{totp_id}/delete`

use serde::Serialize;
use utoipa::ToSchema;
use vestry_domain::ids::TotpId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Sealed];

/// Confirmation that an authenticator app was deleted.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TotpDeleteResponse)]
pub(crate) struct Response {
    /// Confirmation for people; it may change.
    #[schema(min_length = 1)]
    message: &'static str,
    /// Id of the user that the app belonged to.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
}

/// Delete an authenticator app
///
/// Removes an authenticator app of a user together with its recovery codes. If it was verified, the user's sessions end and the user is
/// notified.
///
/// An authenticator app is never the last sign-in method, so it can always be removed.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    delete,
    path = "/v1/auth/users/totps/{totp_id}/delete",
    operation_id = "deleteUserTotp",
    tag = "Users",
    params(("totp_id" = String, Path, description = "Id of the authenticator app", pattern = "^totp_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The authenticator app was deleted", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<TotpId>,
) -> Result<Json<Response>, Problem> {
    let user_id = call
        .run(move |service, caller| async move { service.delete_totp(&caller, id).await })
        .await?;
    Ok(Json(Response {
        message: "Successfully deleted user totp",
        user_id: user_id.to_string(),
    }))
}
