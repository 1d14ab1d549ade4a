//! The output of `vestry webhook`.

use serde_json::json;
use vestry_app::platform::webhooks::{ListedEndpoint, Trial};
use vestry_domain::Secret;
use vestry_domain::ids::{AppId, WebhookEndpointId};
use vestry_domain::webhook::{Attempt, Delivery, Replay};
use vestry_edge::views::{
    WebhookAttemptView, WebhookDeliveryView, WebhookEndpointView, WebhookReplayView, views,
};

use crate::output::{Output, date, table, with};

pub(super) fn endpoint(listed: &ListedEndpoint) -> Output {
    let view = WebhookEndpointView::from(listed);
    Output::new(json!(view), describe(listed))
}

/// The output of an endpoint with a new signing secret. No other output contains one.
pub(super) fn endpoint_with_secret(listed: &ListedEndpoint, secret: &Secret<String>) -> Output {
    let view = WebhookEndpointView::from(listed).with_secret(secret);
    let (app, id) = (listed.endpoint.world.app_id, listed.endpoint.id);
    Output::new(
        json!(view),
        format!(
            "{}\n\nSigning secret (shown once):\n  {}\n\nNext: vestry webhook test {app} {id}",
            describe(listed),
            secret.expose(),
        ),
    )
}

pub(super) fn endpoints(listed: &[ListedEndpoint]) -> Output {
    let documents: Vec<WebhookEndpointView<'_>> = views(listed);
    let row = |listed: &ListedEndpoint| {
        let endpoint = &listed.endpoint;
        [
            endpoint.id.to_string(),
            endpoint.world.environment.to_string(),
            state(listed),
            endpoint.types.names().join(","),
            endpoint.url.as_str().to_owned(),
        ]
    };
    let text = table(
        ["ID", "ENVIRONMENT", "STATE", "TYPES", "URL"],
        listed.iter().map(row),
        "No webhook endpoints. Create one: vestry webhook create APP test URL",
    );
    Output::new(json!({ "webhook_endpoints": documents }), text)
}

pub(super) fn trial(trial: &Trial) -> Output {
    let milliseconds = trial.duration.as_millis();
    let document = json!({
        "status": trial.status,
        "duration_ms": u64::try_from(milliseconds).unwrap_or(u64::MAX),
        "error": trial.error,
        "response_excerpt": trial.response_excerpt,
    });
    let outcome = outcome(trial.status, trial.error.as_deref());
    let excerpt = trial.response_excerpt.as_deref().unwrap_or_default();
    let text = format!("{outcome} in {milliseconds} ms\n{excerpt}");
    let is_delivered = matches!(trial.status, Some(200..=299));
    Output::new(document, text).failing((!is_delivered).then_some("test delivery failed"))
}

pub(super) fn deliveries(deliveries: &[Delivery]) -> Output {
    let documents: Vec<WebhookDeliveryView> = views(deliveries);
    let row = |delivery: &Delivery| {
        [
            delivery.id.to_string(),
            delivery.kind.as_str().to_owned(),
            delivery.state.as_str().to_owned(),
            delivery.attempts.to_string(),
            delivery.next_attempt_at().map(date).unwrap_or_default(),
            delivery.event_id.to_string(),
        ]
    };
    let text = table(
        ["ID", "TYPE", "STATE", "ATTEMPTS", "NEXT", "EVENT"],
        deliveries.iter().map(row),
        "No deliveries.",
    );
    Output::new(json!({ "deliveries": documents }), text)
}

pub(super) fn delivery(delivery: &Delivery, attempts: &[Attempt]) -> Output {
    let tried: Vec<WebhookAttemptView<'_>> = views(attempts);
    let row = |attempt: &Attempt| {
        [
            attempt.number.to_string(),
            date(attempt.at),
            outcome(attempt.status, attempt.error.as_deref()),
            format!("{} ms", attempt.duration_ms),
        ]
    };
    let attempts = table(
        ["ATTEMPT", "AT", "RESPONSE", "DURATION"],
        attempts.iter().map(row),
        "No attempts yet.",
    );
    let Delivery {
        id,
        kind,
        event_id,
        state,
        ..
    } = delivery;
    Output::new(
        with(
            json!(WebhookDeliveryView::from(delivery)),
            "attempts",
            json!(tried),
        ),
        format!("{id} {kind} of {event_id}: {}\n{attempts}", state.as_str()),
    )
}

pub(super) fn redelivery(delivery: &Delivery) -> Output {
    Output::new(
        json!(WebhookDeliveryView::from(delivery)),
        format!(
            "Queued {} for redelivery as {}.",
            delivery.event_id, delivery.id
        ),
    )
}

pub(super) fn replay_started(replay: &Replay, app: AppId, endpoint: WebhookEndpointId) -> Output {
    Output::new(
        json!(WebhookReplayView::from(replay)),
        format!(
            "Replay {} started: {} events. Follow progress with: vestry webhook replays {app} {endpoint}",
            replay.id, replay.count
        ),
    )
}

pub(super) fn replays(replays: &[Replay]) -> Output {
    let documents: Vec<WebhookReplayView> = views(replays);
    let row = |replay: &Replay| {
        [
            replay.id.to_string(),
            date(replay.created_at),
            format!("{} of {}", replay.done, replay.count),
            replay.ended_at.map_or_else(|| "running".to_owned(), date),
        ]
    };
    let text = table(
        ["ID", "STARTED", "SENT", "ENDED"],
        replays.iter().map(row),
        "No bulk replays.",
    );
    Output::new(json!({ "replays": documents }), text)
}

fn describe(listed: &ListedEndpoint) -> String {
    let endpoint = &listed.endpoint;
    let mut lines = vec![
        format!("{} {}", endpoint.id, state(listed)),
        format!("  url      {}", endpoint.url.as_str()),
        format!("    App      {}", endpoint.world),
        format!("  types    {}", endpoint.types.names().join(", ")),
    ];
    lines.extend(
        endpoint
            .name
            .iter()
            .map(|name| format!("  name     {name}")),
    );
    if let Some(since) = endpoint.failing_since {
        lines.push(format!("    failing since {}", date(since)));
    }
    if let Some(at) = endpoint.last_success_at {
        lines.push(format!("    last successful delivery {}", date(at)));
    }
    for secret in &listed.secrets {
        let until = secret
            .expires_at
            .map_or_else(String::new, |until| format!(", until {}", date(until)));
        let from = date(secret.created_at);
        lines.push(format!(
            "  secret   …{} from {from}{until}",
            secret.last_four
        ));
    }
    lines.join("\n")
}

fn state(listed: &ListedEndpoint) -> String {
    let endpoint = &listed.endpoint;
    match endpoint.disabled {
        Some(reason) => format!("disabled ({})", reason.as_str()),
        None => endpoint.state().to_string(),
    }
}

fn outcome(status: Option<u16>, error: Option<&str>) -> String {
    match (status, error) {
        (Some(status), _) => status.to_string(),
        (None, error) => error.unwrap_or("no response").to_owned(),
    }
}
