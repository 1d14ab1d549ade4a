//! `POST /v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/test`

use actix_web::HttpResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_domain::Invalid;
use vestry_domain::event::EventKind;
use vestry_domain::ids::WebhookEndpointId;
use vestry_edge::{Code, OptionalBody, PathId, Problem};

use crate::call::Call;
use crate::place::InWorld;
use crate::webhook_endpoints::WebhookTest;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::NotFound,
    Code::Unavailable,
    Code::KeyNotAllowed,
];

/// The sample to send.
#[derive(Deserialize, ToSchema, Default)]
#[serde(deny_unknown_fields)]
#[schema(as = TestWebhookEndpointRequest)]
pub(crate) struct Request {
    /// The event type, such as `user.created` (default `webhook.test`).
    r#type: Option<String>,
}

/// Send a sample event
///
/// One signed request, without a retry; the event is not in the log. A failed request is part of the result, not an error.
///
/// Needs the scope `webhooks:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/test",
    operation_id = "testWebhookEndpoint",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("whep_id" = String, Path, description = "Id of the webhook endpoint", pattern = "^whep_[0-9A-Za-z]{27}$"),
    ),
    request_body(content = Option<Request>, content_type = "application/json"),
    responses((status = 200, description = "The response of the endpoint", body = WebhookTest))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<WebhookEndpointId>,
    OptionalBody(request): OptionalBody<Request>,
) -> Result<HttpResponse, Problem> {
    let kind = request.unwrap_or_default().r#type;
    let kind = kind
        .map(|name| name.parse::<EventKind>())
        .transpose()
        .map_err(|invalid| Invalid {
            param: "type".into(),
            ..invalid
        })?;
    let trial =
        call.run(move |service, by| async move {
            service.try_webhook(&by, world.into(), id, kind).await
        })
        .await?;
    Ok(HttpResponse::Ok().json(WebhookTest::from(trial)))
}
