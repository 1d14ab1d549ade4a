//! `POST /v1/manage/apps/{app_id}/{environment}/webhook_endpoints`

use actix_web::HttpResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_app::platform::webhooks::NewEndpoint;
use vestry_edge::views::WebhookEndpointView;
use vestry_edge::{Body, Code, Problem};

use crate::call::Call;
use crate::etag;
use crate::place::InWorld;
use crate::webhook_endpoints::NewWebhookEndpoint;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::MissingField,
    Code::NotFound,
    Code::Duplicate,
    Code::KeyNotAllowed,
];

/// A new webhook endpoint.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateWebhookEndpointRequest)]
pub(crate) struct Request {
    /// The URL that receives events: `https`, at most 2,048 characters.
    #[schema(max_length = 2048, examples("https://shop.example/hooks/vestry"))]
    url: String,
    /// Its name, 1 to 100 characters.
    #[schema(min_length = 1, max_length = 100)]
    name: Option<String>,
    /// Event types: names, `group.*`, or `*` for all (the default).
    types: Option<Vec<String>>,
    /// Whether deliveries start at once.
    #[schema(default = true)]
    enabled: Option<bool>,
}

/// Create a webhook endpoint
///
/// The response shows the signing secret, and no later one does. docs/webhooks.md describes how to verify it.
///
/// Needs the scope `webhooks:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps/{app_id}/{environment}/webhook_endpoints",
    operation_id = "createWebhookEndpoint",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
    ),
    request_body(content = Request, content_type = "application/json"),
    responses((status = 201, description = "The new endpoint", body = NewWebhookEndpoint))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    Body(request): Body<Request>,
) -> Result<HttpResponse, Problem> {
    let new = NewEndpoint {
        url: request.url,
        name: request.name,
        types: request.types.unwrap_or_else(|| vec!["*".to_owned()]),
        enabled: request.enabled.unwrap_or(true),
    };
    let (endpoint, secret) = call
        .run(move |service, by| async move { service.add_webhook(&by, world, new).await })
        .await?;
    etag::created(&WebhookEndpointView::from(&endpoint).with_secret(&secret))
}
