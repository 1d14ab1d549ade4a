//! `PATCH /v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}`

use std::sync::Arc;

use actix_web::HttpResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_app::platform::webhooks::{EndpointChange, ListedEndpoint};
use vestry_domain::ids::WebhookEndpointId;
use vestry_edge::views::WebhookEndpointView;
use vestry_edge::{Body, Code, PathId, Problem};

use crate::call::Call;
use crate::etag::{self, IfMatch};
use crate::fields::nullable;
use crate::place::InWorld;
use crate::webhook_endpoints::WebhookEndpoint;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::NotFound,
    Code::Duplicate,
    Code::KeyNotAllowed,
    Code::PreconditionFailed,
    Code::PreconditionRequired,
];

/// Changes of a webhook endpoint.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UpdateWebhookEndpointRequest)]
pub(crate) struct Request {
    /// The URL that receives events.
    #[schema(max_length = 2048)]
    url: Option<String>,
    /// Its name, 1 to 100 characters; `null` removes it.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 100)]
    name: Option<Option<String>>,
    /// Event types: names, `group.*`, or `*` for all.
    types: Option<Vec<String>>,
}

/// Change a webhook endpoint
///
/// Fields that are not in the body stay as they are; `null` removes the name. Pending deliveries go to the new URL.
///
/// Needs the scope `webhooks:write`.
#[utoipa::path(
    patch,
    path = "/v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}",
    operation_id = "updateWebhookEndpoint",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("whep_id" = String, Path, description = "Id of the webhook endpoint", pattern = "^whep_[0-9A-Za-z]{27}$"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the object as the caller has seen it"),
    ),
    request_body(content = Request, content_type = "application/json"),
    responses((status = 200, description = "The endpoint", body = WebhookEndpoint))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<WebhookEndpointId>,
    if_match: IfMatch,
    Body(request): Body<Request>,
) -> Result<HttpResponse, Problem> {
    let change = EndpointChange {
        url: request.url,
        name: request.name,
        types: request.types,
    };
    let if_match = if_match.shared();
    let condition = Arc::clone(&if_match);
    let changed = call.attempt(move |service, by| async move {
        let is_expected =
            |known: &ListedEndpoint| condition.holds_for(&WebhookEndpointView::from(known));
        service
            .change_expected_webhook(&by, world.into(), id, change, &is_expected)
            .await
    });
    let changed = changed
        .await?
        .map_err(|refusal| if_match.refused(refusal))?;
    etag::object(&WebhookEndpointView::from(&changed))
}
