//! `POST /v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/disable`

use actix_web::HttpResponse;
use vestry_domain::ids::WebhookEndpointId;
use vestry_edge::views::WebhookEndpointView;
use vestry_edge::{Code, PathId, Problem};

use crate::call::Call;
use crate::etag;
use crate::place::InWorld;
use crate::webhook_endpoints::WebhookEndpoint;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// Disable a webhook endpoint
///
/// Its pending deliveries are held for 30 days.
///
/// Needs the scope `webhooks:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/disable",
    operation_id = "disableWebhookEndpoint",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("whep_id" = String, Path, description = "Id of the webhook endpoint", pattern = "^whep_[0-9A-Za-z]{27}$"),
    ),
    responses((status = 200, description = "The endpoint", body = WebhookEndpoint))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<WebhookEndpointId>,
) -> Result<HttpResponse, Problem> {
    let endpoint = call
        .run(move |service, by| async move { service.disable_webhook(&by, world.into(), id).await })
        .await?;
    etag::object(&WebhookEndpointView::from(&endpoint))
}
