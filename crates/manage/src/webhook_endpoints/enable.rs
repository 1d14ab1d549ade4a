//! `POST /v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/enable`

use actix_web::HttpResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_app::platform::webhooks::Resume;
use vestry_domain::Invalid;
use vestry_domain::ids::WebhookEndpointId;
use vestry_edge::views::WebhookEndpointView;
use vestry_edge::{Code, OptionalBody, PathId, Problem};

use crate::call::Call;
use crate::etag;
use crate::place::InWorld;
use crate::webhook_endpoints::WebhookEndpoint;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::NotFound,
    Code::KeyNotAllowed,
];

/// How deliveries go on.
#[derive(Deserialize, ToSchema, Default)]
#[serde(deny_unknown_fields)]
#[schema(as = EnableWebhookEndpointRequest)]
pub(crate) struct Request {
    /// What happens to the deliveries that were held: `all` are sent (the default), or `none`.
    #[schema(pattern = "^(all|none)$", default = "all")]
    resume: Option<String>,
}

/// Enable a webhook endpoint
///
/// Its failure history is cleared. An enabled endpoint stays as it is.
///
/// Needs the scope `webhooks:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/enable",
    operation_id = "enableWebhookEndpoint",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("whep_id" = String, Path, description = "Id of the webhook endpoint", pattern = "^whep_[0-9A-Za-z]{27}$"),
    ),
    request_body(content = Option<Request>, content_type = "application/json"),
    responses((status = 200, description = "The endpoint", body = WebhookEndpoint))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<WebhookEndpointId>,
    OptionalBody(request): OptionalBody<Request>,
) -> Result<HttpResponse, Problem> {
    let resume = match request.unwrap_or_default().resume.as_deref() {
        None | Some("all") => Resume::All,
        Some("none") => Resume::Nothing,
        Some(_) => return Err(Invalid::value("resume", "resume must be all or none").into()),
    };
    let endpoint = call
        .run(move |service, by| async move {
            service.enable_webhook(&by, world.into(), id, resume).await
        })
        .await?;
    etag::object(&WebhookEndpointView::from(&endpoint))
}
