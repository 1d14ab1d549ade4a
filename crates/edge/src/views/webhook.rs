//! Webhook endpoints, deliveries and replays.

use serde::Serialize;
use vestry_app::platform::webhooks::ListedEndpoint;
use vestry_domain::ids::{AppId, EventId, WebhookDeliveryId, WebhookEndpointId, WebhookReplayId};
use vestry_domain::webhook::{Attempt, Delivery, Replay, SealedSecret};
use vestry_domain::{Environment, Secret, Timestamp};

/// A webhook endpoint. A signing secret is included only when it was just created.
#[derive(Serialize)]
pub struct WebhookEndpointView<'a> {
    id: WebhookEndpointId,
    app_id: AppId,
    environment: Environment,
    url: &'a str,
    name: Option<&'a str>,
    types: &'a [String],
    state: String,
    disabled_reason: Option<&'static str>,
    failing_since: Option<Timestamp>,
    last_success_at: Option<Timestamp>,
    secrets: Vec<SecretView<'a>>,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

impl<'a> WebhookEndpointView<'a> {
    /// Includes a new signing secret.
    #[must_use]
    pub fn with_secret(self, secret: &'a Secret<String>) -> Self {
        Self {
            secret: Some(secret.expose()),
            ..self
        }
    }
}

impl<'a> From<&'a ListedEndpoint> for WebhookEndpointView<'a> {
    fn from(listed: &'a ListedEndpoint) -> Self {
        let endpoint = &listed.endpoint;
        Self {
            id: endpoint.id,
            app_id: endpoint.world.app_id,
            environment: endpoint.world.environment,
            url: endpoint.url.as_str(),
            name: endpoint.name.as_deref(),
            types: endpoint.types.names(),
            state: endpoint.state().to_string(),
            disabled_reason: endpoint.disabled.map(|reason| reason.as_str()),
            failing_since: endpoint.failing_since,
            last_success_at: endpoint.last_success_at,
            secrets: super::views(&listed.secrets),
            created_at: endpoint.created_at,
            updated_at: endpoint.updated_at,
            secret: None,
        }
    }
}

/// A signing secret by its last four characters.
#[derive(Serialize)]
struct SecretView<'a> {
    last_four: &'a str,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
}

impl<'a> From<&'a SealedSecret> for SecretView<'a> {
    fn from(secret: &'a SealedSecret) -> Self {
        Self {
            last_four: &secret.last_four,
            created_at: secret.created_at,
            expires_at: secret.expires_at,
        }
    }
}

/// A delivery of an event.
#[derive(Serialize)]
pub struct WebhookDeliveryView {
    id: WebhookDeliveryId,
    event_id: EventId,
    position: i64,
    r#type: &'static str,
    state: &'static str,
    attempts: u32,
    next_attempt_at: Option<Timestamp>,
    created_at: Timestamp,
}

impl From<&Delivery> for WebhookDeliveryView {
    fn from(delivery: &Delivery) -> Self {
        Self {
            id: delivery.id,
            event_id: delivery.event_id,
            position: delivery.position,
            r#type: delivery.kind.as_str(),
            state: delivery.state.as_str(),
            attempts: delivery.attempts,
            next_attempt_at: delivery.next_attempt_at(),
            created_at: delivery.created_at,
        }
    }
}

/// One attempt of a delivery.
#[derive(Serialize)]
pub struct WebhookAttemptView<'a> {
    number: u32,
    at: Timestamp,
    duration_ms: u32,
    status: Option<u16>,
    error: Option<&'a str>,
    response_excerpt: Option<&'a str>,
}

impl<'a> From<&'a Attempt> for WebhookAttemptView<'a> {
    fn from(attempt: &'a Attempt) -> Self {
        Self {
            number: attempt.number,
            at: attempt.at,
            duration_ms: attempt.duration_ms,
            status: attempt.status,
            error: attempt.error.as_deref(),
            response_excerpt: attempt.response_excerpt.as_deref(),
        }
    }
}

/// A bulk replay and its progress.
#[derive(Serialize)]
pub struct WebhookReplayView {
    replay_id: WebhookReplayId,
    state: &'static str,
    count: i64,
    done: i64,
    created_at: Timestamp,
    ended_at: Option<Timestamp>,
}

impl From<&Replay> for WebhookReplayView {
    fn from(replay: &Replay) -> Self {
        Self {
            replay_id: replay.id,
            state: if replay.ended_at.is_some() {
                "done"
            } else {
                "running"
            },
            count: replay.count,
            done: replay.done,
            created_at: replay.created_at,
            ended_at: replay.ended_at,
        }
    }
}
