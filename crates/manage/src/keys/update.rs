//! `PATCH /v1/manage/apps/{app_id}/{environment}/keys/{key_id}`

use actix_web::HttpResponse;
use vestry_domain::Invalid;
use vestry_domain::ids::ApiKeyId;
use vestry_edge::views::ApiKeyView;
use vestry_edge::{Body, Code, PathId, Problem};

use crate::call::Call;
use crate::etag;
use crate::fields::{KeyChange, KeyRequest};
use crate::keys::ApiKey;
use crate::place::InWorld;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::NotFound,
    Code::KeyNotAllowed,
];

/// Change an API key
///
/// Fields of the body replace those of the key, `null` removes a field and with it its restriction, and the others stay as they are. Running services follow within a second.
///
/// Needs the scope `keys:write`.
#[utoipa::path(
    patch,
    path = "/v1/manage/apps/{app_id}/{environment}/keys/{key_id}",
    operation_id = "updateApiKey",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("key_id" = String, Path, description = "Id of the API key", pattern = "^key_[0-9A-Za-z]{27}$"),
    ),
    request_body(content = KeyRequest, content_type = "application/json"),
    responses((status = 200, description = "The key", body = ApiKey))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<ApiKeyId>,
    Body(request): Body<KeyRequest>,
) -> Result<HttpResponse, Problem> {
    if request.kind.is_some() {
        return Err(Invalid::unknown("kind", "the kind of a key cannot be changed").into());
    }
    let KeyChange { clear, set } = request.parsed()?;
    let key = call
        .run(move |service, by| async move {
            service
                .update_api_key(&by, world.into(), id, &clear, set)
                .await
        })
        .await?;
    etag::object(&ApiKeyView::from(&key))
}
