//! `GET /v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/replays`

use actix_web::HttpResponse;
use vestry_domain::ids::WebhookEndpointId;
use vestry_edge::views::{WebhookReplayView, views};
use vestry_edge::{Code, PathId, Problem};

use crate::call::Call;
use crate::etag;
use crate::place::InWorld;
use crate::webhook_endpoints::WebhookReplays;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// List the replays to a webhook endpoint
///
/// Returns the replays of the last 30 days with their progress, newest first.
///
/// Needs the scope `webhooks:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/replays",
    operation_id = "listWebhookReplays",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("whep_id" = String, Path, description = "Id of the webhook endpoint", pattern = "^whep_[0-9A-Za-z]{27}$"),
    ),
    responses((status = 200, description = "The replays", body = WebhookReplays))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<WebhookEndpointId>,
) -> Result<HttpResponse, Problem> {
    let replays = call
        .run(move |service, by| async move { service.list_replays(&by, world.into(), id).await })
        .await?;
    let shown: Vec<WebhookReplayView> = views(&replays);
    etag::list("replays", &shown)
}
