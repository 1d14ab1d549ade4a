//! `DELETE /v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}`

use std::sync::Arc;

use actix_web::HttpResponse;
use vestry_app::platform::webhooks::ListedEndpoint;
use vestry_domain::ids::WebhookEndpointId;
use vestry_edge::views::WebhookEndpointView;
use vestry_edge::{Code, PathId, Problem};

use crate::call::Call;
use crate::etag::IfMatch;
use crate::fields::Removed;
use crate::place::InWorld;

pub(crate) const ERRORS: &[Code] = &[
    Code::NotFound,
    Code::KeyNotAllowed,
    Code::PreconditionFailed,
    Code::PreconditionRequired,
];

/// Delete a webhook endpoint
///
/// Its pending deliveries are discarded.
///
/// Needs the scope `webhooks:write`.
#[utoipa::path(
    delete,
    path = "/v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}",
    operation_id = "deleteWebhookEndpoint",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("whep_id" = String, Path, description = "Id of the webhook endpoint", pattern = "^whep_[0-9A-Za-z]{27}$"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the object as the caller has seen it"),
    ),
    responses((status = 200, description = "The id of the deleted endpoint", body = Removed))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<WebhookEndpointId>,
    if_match: IfMatch,
) -> Result<HttpResponse, Problem> {
    let if_match = if_match.shared();
    let condition = Arc::clone(&if_match);
    let outcome = call.attempt(move |service, by| async move {
        let is_expected =
            |known: &ListedEndpoint| condition.holds_for(&WebhookEndpointView::from(known));
        service
            .remove_expected_webhook(&by, world.into(), id, &is_expected)
            .await
    });
    outcome
        .await?
        .map_err(|refusal| if_match.refused(refusal))?;
    Ok(Removed::of(id))
}
