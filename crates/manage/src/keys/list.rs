//! `GET /v1/manage/apps/{app_id}/{environment}/keys`

use actix_web::HttpResponse;
use vestry_edge::views::{ApiKeyView, views};
use vestry_edge::{Code, Problem};

use crate::call::Call;
use crate::etag;
use crate::keys::ApiKeys;
use crate::place::InWorld;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// List API keys
///
/// Returns the secret keys and public tokens of the environment, oldest first, with the last use of each by operation (to within a minute). Keys themselves are not stored.
///
/// Needs the scope `keys:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/apps/{app_id}/{environment}/keys",
    operation_id = "listApiKeys",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
    ),
    responses((status = 200, description = "The keys", body = ApiKeys))
)]
pub(crate) async fn handle(call: Call, InWorld(world): InWorld) -> Result<HttpResponse, Problem> {
    let (keys, uses) = call
        .run(move |service, by| async move {
            let keys = service.list_api_keys(&by, world.into()).await?;
            let uses = service.list_key_uses(&by, world.into()).await?;
            Ok((keys, uses))
        })
        .await?;
    let shown: Vec<ApiKeyView<'_>> = views(&keys);
    let shown: Vec<_> = shown.into_iter().map(|key| key.used(&uses)).collect();
    etag::list("keys", &shown)
}
