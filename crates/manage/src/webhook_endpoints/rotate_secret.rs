//! `POST /v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/rotate_secret`

use actix_web::HttpResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_domain::ids::WebhookEndpointId;
use vestry_edge::{Code, OptionalBody, PathId, Problem};

use crate::call::Call;
use crate::place::InWorld;
use crate::webhook_endpoints::WebhookSecret;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::NotFound,
    Code::KeyNotAllowed,
];

/// How long both secrets sign, in minutes, unless the request says otherwise: a day.
const DEFAULT_OVERLAP: i64 = 1_440;

/// How long the previous secret still signs.
#[derive(Deserialize, ToSchema, Default)]
#[serde(deny_unknown_fields)]
#[schema(as = RotateWebhookSecretRequest)]
pub(crate) struct Request {
    /// Minutes, 0 to 10080 (a week).
    #[schema(minimum = 0, maximum = 10080, default = 1440)]
    overlap_minutes: Option<i64>,
}

/// Create a new signing secret
///
/// The response shows the secret, and no later one does. The previous secret signs too until the overlap is over; an older one stops at once.
///
/// Needs the scope `webhooks:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/rotate_secret",
    operation_id = "rotateWebhookSecret",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("whep_id" = String, Path, description = "Id of the webhook endpoint", pattern = "^whep_[0-9A-Za-z]{27}$"),
    ),
    request_body(content = Option<Request>, content_type = "application/json"),
    responses((status = 200, description = "The new secret", body = WebhookSecret))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<WebhookEndpointId>,
    OptionalBody(request): OptionalBody<Request>,
) -> Result<HttpResponse, Problem> {
    let overlap = request
        .unwrap_or_default()
        .overlap_minutes
        .unwrap_or(DEFAULT_OVERLAP);
    let secret = call
        .run(move |service, by| async move {
            service
                .rotate_webhook_secret(&by, world.into(), id, overlap)
                .await
        })
        .await?;
    Ok(HttpResponse::Ok().json(WebhookSecret {
        secret: secret.expose().clone(),
    }))
}
