//! `POST /v1/manage/apps/{app_id}/{environment}/keys/{key_id}/rotate`

use actix_web::HttpResponse;
use vestry_domain::ids::ApiKeyId;
use vestry_edge::views::ApiKeyView;
use vestry_edge::{Code, PathId, Problem};

use crate::call::Call;
use crate::etag;
use crate::keys::NewApiKey;
use crate::place::InWorld;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// Create a replacement for an API key
///
/// The new key has the kind, name, scopes and restrictions of the old one. Both work until the old one is revoked. The response shows the new key, and no later one does.
///
/// Needs the scope `keys:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps/{app_id}/{environment}/keys/{key_id}/rotate",
    operation_id = "rotateApiKey",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("key_id" = String, Path, description = "Id of the API key", pattern = "^key_[0-9A-Za-z]{27}$"),
    ),
    responses((status = 201, description = "The new key", body = NewApiKey))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<ApiKeyId>,
) -> Result<HttpResponse, Problem> {
    let made = call
        .run(move |service, by| async move { service.rotate_api_key(&by, world.into(), id).await })
        .await?;
    etag::created(&ApiKeyView::from(&made))
}
