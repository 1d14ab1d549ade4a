//! `GET /v1/manage/apps/{app_id}/{environment}/providers/{provider}`

use actix_web::HttpResponse;
use vestry_edge::views::ProviderView;
use vestry_edge::{Code, Problem};

use crate::call::Call;
use crate::etag;
use crate::place::{InProvider, InWorld};
use crate::providers::Provider;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// Get an identity provider
///
/// Returns the connection without its client secret.
///
/// Needs the scope `providers:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/apps/{app_id}/{environment}/providers/{provider}",
    operation_id = "getProvider",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("provider" = String, Path, description = "Name of the provider", pattern = "^[a-z][a-z0-9_-]{0,31}$"),
    ),
    responses((status = 200, description = "The connection", body = Provider))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    InProvider(name): InProvider,
) -> Result<HttpResponse, Problem> {
    let provider = call
        .run(move |service, by| async move { service.show_provider(&by, world, &name).await })
        .await?;
    etag::object(&ProviderView::from(&provider))
}
