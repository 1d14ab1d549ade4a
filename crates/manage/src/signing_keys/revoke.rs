//! `POST /v1/manage/apps/{app_id}/{environment}/signing_keys/{jwk_id}/revoke`

use actix_web::HttpResponse;
use vestry_domain::ids::SigningKeyId;
use vestry_edge::{Code, PathId, Problem};

use crate::call::Call;
use crate::fields::Removed;
use crate::place::InWorld;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// Revoke a signing key
///
/// For a key that has leaked: session JWTs signed with it are refused from now on. Sessions go on. If it was the active key, a successor signs at once.
///
/// Needs the scope `keys:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps/{app_id}/{environment}/signing_keys/{jwk_id}/revoke",
    operation_id = "revokeSigningKey",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("jwk_id" = String, Path, description = "Id of the signing key", pattern = "^jwk_[0-9A-Za-z]{27}$"),
    ),
    responses((status = 200, description = "The id of the revoked key", body = Removed))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<SigningKeyId>,
) -> Result<HttpResponse, Problem> {
    call.run(
        move |service, by| async move { service.revoke_signing_key(&by, world.into(), id).await },
    )
    .await?;
    Ok(Removed::of(id))
}
