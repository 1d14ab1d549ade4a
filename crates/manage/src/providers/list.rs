//! `GET /v1/manage/apps/{app_id}/{environment}/providers`

use actix_web::HttpResponse;
use vestry_edge::views::{ProviderView, views};
use vestry_edge::{Code, Problem};

use crate::call::Call;
use crate::etag;
use crate::place::InWorld;
use crate::providers::Providers;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// List identity providers
///
/// Returns the connections of the environment by name, without the built-in `test` provider. Client secrets are not shown.
///
/// Needs the scope `providers:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/apps/{app_id}/{environment}/providers",
    operation_id = "listProviders",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
    ),
    responses((status = 200, description = "The connections", body = Providers))
)]
pub(crate) async fn handle(call: Call, InWorld(world): InWorld) -> Result<HttpResponse, Problem> {
    let providers = call
        .run(move |service, by| async move { service.list_providers(&by, world.into()).await })
        .await?;
    let shown: Vec<ProviderView<'_>> = views(&providers);
    etag::list("providers", &shown)
}
