//! `GET /v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/deliveries/{whdel_id}`

use actix_web::HttpResponse;
use serde_json::json;
use vestry_domain::ids::{WebhookDeliveryId, WebhookEndpointId};
use vestry_edge::views::{WebhookAttemptView, WebhookDeliveryView, views};
use vestry_edge::{Code, PathId, Problem};

use crate::call::Call;
use crate::place::InWorld;
use crate::webhook_endpoints::WebhookDeliveryWithAttempts;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// Get a delivery
///
/// Returns the delivery with all of its attempts.
///
/// Needs the scope `webhooks:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/deliveries/{whdel_id}",
    operation_id = "getWebhookDelivery",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("whep_id" = String, Path, description = "Id of the webhook endpoint", pattern = "^whep_[0-9A-Za-z]{27}$"),
        ("whdel_id" = String, Path, description = "Id of the delivery", pattern = "^whdel_[0-9A-Za-z]{27}$"),
    ),
    responses((status = 200, description = "The delivery", body = WebhookDeliveryWithAttempts))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<WebhookEndpointId>,
    PathId(delivery): PathId<WebhookDeliveryId>,
) -> Result<HttpResponse, Problem> {
    let (delivery, attempts) = call
        .run(move |service, by| async move {
            service.show_delivery(&by, world.into(), id, delivery).await
        })
        .await?;
    let attempts: Vec<WebhookAttemptView<'_>> = views(&attempts);
    let delivery = WebhookDeliveryView::from(&delivery);
    Ok(HttpResponse::Ok().json(json!({ "delivery": delivery, "attempts": attempts })))
}
