//! `POST /v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/replay`

use actix_web::HttpResponse;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;
use vestry_app::platform::replays::ReplaySelection;
use vestry_app::platform::webhooks::Replayed;
use vestry_domain::ids::WebhookEndpointId;
use vestry_domain::{Invalid, Timestamp};
use vestry_edge::{Body, Code, PathId, Problem};

use super::deliveries::optional;
use crate::call::Call;
use crate::place::InWorld;
use crate::webhook_endpoints::WebhookReplayStarted;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::NotFound,
    Code::KeyNotAllowed,
];

/// The events to deliver again: exactly one of the fields.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReplayWebhookRequest)]
pub(crate) struct Request {
    /// An event, even if the endpoint's types do not select it.
    #[schema(pattern = "^event_[0-9A-Za-z]{27}$")]
    event_id: Option<String>,
    /// The event of an earlier delivery.
    #[schema(pattern = "^whdel_[0-9A-Za-z]{27}$")]
    delivery_id: Option<String>,
    /// Events whose attempts all failed since this time, in Unix seconds.
    failed_since: Option<i64>,
    /// A part of the log.
    range: Option<Range>,
}

/// The events after one, up to another or the newest, that match the endpoint's types.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReplayRange)]
pub(crate) struct Range {
    /// The event before the first one.
    #[schema(pattern = "^event_[0-9A-Za-z]{27}$")]
    after: String,
    /// The last event; without it, the newest.
    #[schema(pattern = "^event_[0-9A-Za-z]{27}$")]
    until: Option<String>,
}

enum Wanted {
    One(Replayed),
    Many(ReplaySelection),
}

impl Request {
    fn parsed(self) -> Result<Wanted, Invalid> {
        let event = optional("event_id", self.event_id)?.map(Replayed::Event);
        let delivery = optional("delivery_id", self.delivery_id)?.map(Replayed::Delivery);
        let since = self.failed_since.map(Timestamp::from_unix);
        let range = match self.range {
            None => None,
            Some(range) => Some(ReplaySelection::Range {
                after: optional("range.after", Some(range.after))?
                    .ok_or_else(|| Invalid::missing("range.after"))?,
                until: optional("range.until", range.until)?,
            }),
        };
        let one = [event, delivery].map(|what| what.map(Wanted::One));
        let many = [since.map(ReplaySelection::FailedSince), range];
        let many = many.map(|wanted| wanted.map(Wanted::Many));
        let mut wanted = one.into_iter().chain(many).flatten();
        match (wanted.next(), wanted.next()) {
            (Some(wanted), None) => Ok(wanted),
            _ => Err(Invalid::value(
                "event_id",
                "send exactly one of event_id, delivery_id, failed_since and range",
            )),
        }
    }
}

/// Deliver events again
///
/// One event, by `event_id` or by the `delivery_id` of an earlier delivery, is sent at once. `failed_since` and `range` start a replay of up to 100,000 events at 50 a second, beside new deliveries; `listWebhookReplays` shows its progress. An endpoint has one running replay at most.
///
/// Needs the scope `webhooks:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/replay",
    operation_id = "replayWebhook",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("whep_id" = String, Path, description = "Id of the webhook endpoint", pattern = "^whep_[0-9A-Za-z]{27}$"),
    ),
    request_body(content = Request, content_type = "application/json"),
    responses((status = 200, description = "The delivery, or the replay that was started", body = WebhookReplayStarted))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<WebhookEndpointId>,
    Body(request): Body<Request>,
) -> Result<HttpResponse, Problem> {
    match request.parsed()? {
        Wanted::One(what) => {
            let delivery = call
                .run(move |service, by| async move {
                    service.replay_webhook(&by, world.into(), id, what).await
                })
                .await?;
            let started = json!({ "delivery_id": delivery.id, "count": 1 });
            Ok(HttpResponse::Ok().json(started))
        }
        Wanted::Many(wanted) => {
            let replay = call
                .run(move |service, by| async move {
                    service.replay_missed(&by, world.into(), id, wanted).await
                })
                .await?;
            let started = json!({ "replay_id": replay.id, "count": replay.count });
            Ok(HttpResponse::Ok().json(started))
        }
    }
}
