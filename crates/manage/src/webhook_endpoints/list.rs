//! `GET /v1/manage/apps/{app_id}/{environment}/webhook_endpoints`

use actix_web::HttpResponse;
use vestry_edge::views::{WebhookEndpointView, views};
use vestry_edge::{Code, Problem};

use crate::call::Call;
use crate::etag;
use crate::place::InWorld;
use crate::webhook_endpoints::WebhookEndpoints;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// List webhook endpoints
///
/// Returns the endpoints of the environment, oldest first.
///
/// Needs the scope `webhooks:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/apps/{app_id}/{environment}/webhook_endpoints",
    operation_id = "listWebhookEndpoints",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
    ),
    responses((status = 200, description = "The endpoints", body = WebhookEndpoints))
)]
pub(crate) async fn handle(call: Call, InWorld(world): InWorld) -> Result<HttpResponse, Problem> {
    let endpoints = call
        .run(move |service, by| async move { service.list_webhooks(&by, world.into()).await })
        .await?;
    let shown: Vec<WebhookEndpointView<'_>> = views(&endpoints);
    etag::list("webhook_endpoints", &shown)
}
