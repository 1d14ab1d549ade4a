//! `DELETE /v1/manage/apps/{app_id}/{environment}/keys/{key_id}`

use actix_web::HttpResponse;
use vestry_domain::ids::ApiKeyId;
use vestry_edge::{Code, PathId, Problem};

use crate::call::Call;
use crate::fields::Removed;
use crate::place::InWorld;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// Revoke an API key
///
/// Running services refuse it within a second.
///
/// Needs the scope `keys:write`.
#[utoipa::path(
    delete,
    path = "/v1/manage/apps/{app_id}/{environment}/keys/{key_id}",
    operation_id = "revokeApiKey",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("key_id" = String, Path, description = "Id of the API key", pattern = "^key_[0-9A-Za-z]{27}$"),
    ),
    responses((status = 200, description = "The id of the revoked key", body = Removed))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<ApiKeyId>,
) -> Result<HttpResponse, Problem> {
    call.run(move |service, by| async move { service.revoke_api_key(&by, world.into(), id).await })
        .await?;
    Ok(Removed::of(id))
}
