//! `/v1/manage/apps/{app_id}/{environment}/webhook_endpoints`

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod deliveries;
pub(crate) mod delivery;
pub(crate) mod disable;
pub(crate) mod enable;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod replay;
pub(crate) mod replays;
pub(crate) mod rotate_secret;
pub(crate) mod test;
pub(crate) mod update;

use serde::Serialize;
use utoipa::ToSchema;
use vestry_app::platform::webhooks::Trial;

/// A webhook endpoint.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a view")]
pub(crate) struct WebhookEndpoint {
    #[schema(pattern = "^whep_[0-9A-Za-z]{27}$")]
    id: String,
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    #[schema(pattern = "^(test|live)$")]
    environment: String,
    url: String,
    #[schema(required = true)]
    name: Option<String>,
    /// Event types: names, `group.*`, or `*` for all.
    types: Vec<String>,
    #[schema(pattern = "^(active|failing|disabled)$")]
    state: String,
    /// Why it is disabled.
    #[schema(required = true)]
    disabled_reason: Option<String>,
    #[schema(required = true)]
    failing_since: Option<i64>,
    #[schema(required = true)]
    last_success_at: Option<i64>,
    /// The secrets that sign, newest first.
    secrets: Vec<SigningSecret>,
    created_at: i64,
    updated_at: i64,
}

/// A signing secret by its last four characters.
#[derive(ToSchema)]
#[schema(as = WebhookSigningSecret)]
#[expect(dead_code, reason = "describes a view")]
struct SigningSecret {
    last_four: String,
    created_at: i64,
    /// When it stops signing; `null` for the current one.
    #[schema(required = true)]
    expires_at: Option<i64>,
}

/// A new webhook endpoint.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a view")]
pub(crate) struct NewWebhookEndpoint {
    #[serde(flatten)]
    endpoint: WebhookEndpoint,
    /// The signing secret, shown only here.
    secret: String,
}

/// The webhook endpoints of an environment.
#[derive(ToSchema)]
#[schema(as = WebhookEndpointList)]
#[expect(dead_code, reason = "describes a response")]
pub(crate) struct WebhookEndpoints {
    /// Oldest first.
    webhook_endpoints: Vec<WebhookEndpoint>,
}

/// A delivery of an event.
#[derive(ToSchema)]
#[schema(as = WebhookDelivery)]
#[expect(dead_code, reason = "describes a view")]
struct Delivery {
    #[schema(pattern = "^whdel_[0-9A-Za-z]{27}$")]
    id: String,
    #[schema(pattern = "^event_[0-9A-Za-z]{27}$")]
    event_id: String,
    /// Position of the event in the log.
    position: i64,
    /// The event type.
    r#type: String,
    state: String,
    #[schema(minimum = 0)]
    attempts: u32,
    #[schema(required = true)]
    next_attempt_at: Option<i64>,
    created_at: i64,
}

/// A page of deliveries.
#[derive(ToSchema)]
#[schema(as = WebhookDeliveryPage)]
#[expect(dead_code, reason = "describes a response")]
pub(crate) struct WebhookDeliveries {
    /// Newest first.
    deliveries: Vec<Delivery>,
    /// Whether there is a next page.
    has_more: bool,
}

/// A delivery and its attempts.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a response")]
pub(crate) struct WebhookDeliveryWithAttempts {
    delivery: Delivery,
    /// First to last.
    attempts: Vec<Attempt>,
}

/// An attempt of a delivery.
#[derive(ToSchema)]
#[schema(as = WebhookAttempt)]
#[expect(dead_code, reason = "describes a view")]
struct Attempt {
    number: u32,
    /// When it began, in Unix seconds.
    at: i64,
    duration_ms: u32,
    /// The HTTP status of the response; `null` without one.
    #[schema(required = true)]
    status: Option<u16>,
    /// Why there was no response.
    #[schema(required = true)]
    error: Option<String>,
    /// The beginning of the response's body.
    #[schema(required = true)]
    response_excerpt: Option<String>,
}

/// What a request for a redelivery has started.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a response")]
pub(crate) struct WebhookReplayStarted {
    /// The delivery of a single event.
    #[schema(pattern = "^whdel_[0-9A-Za-z]{27}$", nullable = false)]
    delivery_id: Option<String>,
    /// The replay of many.
    #[schema(pattern = "^whrep_[0-9A-Za-z]{27}$", nullable = false)]
    replay_id: Option<String>,
    /// The number of events.
    #[schema(minimum = 0)]
    count: i64,
}

/// The replays to a webhook endpoint.
#[derive(ToSchema)]
#[schema(as = WebhookReplayList)]
#[expect(dead_code, reason = "describes a response")]
pub(crate) struct WebhookReplays {
    /// Newest first.
    replays: Vec<Replay>,
}

/// A replay of many events and its progress.
#[derive(ToSchema)]
#[schema(as = WebhookReplay)]
#[expect(dead_code, reason = "describes a view")]
struct Replay {
    #[schema(pattern = "^whrep_[0-9A-Za-z]{27}$")]
    replay_id: String,
    #[schema(pattern = "^(running|done)$")]
    state: String,
    count: i64,
    done: i64,
    created_at: i64,
    #[schema(required = true)]
    ended_at: Option<i64>,
}

/// A new signing secret.
#[derive(Serialize, ToSchema)]
pub(crate) struct WebhookSecret {
    /// The secret, shown only here.
    secret: String,
}

/// The outcome of a sample event.
#[derive(Serialize, ToSchema)]
pub(crate) struct WebhookTest {
    /// The HTTP status of the response; `null` without one.
    #[schema(required = true)]
    status: Option<u16>,
    /// How long the request took, in milliseconds.
    duration_ms: u64,
    /// Why there was no response.
    #[schema(required = true)]
    error: Option<String>,
    /// The beginning of the response's body.
    #[schema(required = true)]
    response_excerpt: Option<String>,
}

impl From<Trial> for WebhookTest {
    fn from(trial: Trial) -> Self {
        Self {
            status: trial.status,
            duration_ms: u64::try_from(trial.duration.as_millis()).unwrap_or(u64::MAX),
            error: trial.error,
            response_excerpt: trial.response_excerpt,
        }
    }
}
