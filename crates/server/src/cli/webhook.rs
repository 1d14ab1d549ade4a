//! `vestry webhook`

mod output;

use clap::{ArgGroup, Args, Subcommand};
use serde_json::json;
use vestry_app::platform::replays::ReplaySelection;
use vestry_app::platform::webhooks::{EndpointChange, NewEndpoint, Replayed, Resume};
use vestry_app::{Principal, Service};
use vestry_domain::Timestamp;
use vestry_domain::event::EventKind;
use vestry_domain::ids::{EventId, WebhookDeliveryId, WebhookEndpointId};
use vestry_domain::webhook::DeliveryState;
use vestry_ports::store::DeliveryFilter;

use super::args::{InApp, InWorld};
use super::installation::Installation;
use crate::failure::Failure;
use crate::output::Output;

/// The subcommands of `vestry webhook`.
#[derive(Debug, Subcommand)]
pub(crate) enum Webhook {
    /// Create a webhook endpoint; its signing secret is shown once
    #[command(after_help = "\
Requests are signed according to Standard Webhooks; docs/webhooks.md shows how to
verify them in ten lines. To receive test events on this machine without an
endpoint, use `vestry listen`.

Examples:
  vestry webhook create app_… live https://shop.example.com/events
  vestry webhook create app_… live https://shop.example.com/events --types 'user.*,wallet.exported'
  vestry webhook create app_… test http://127.0.0.1:3000/events      if outbound.allowed_networks permits it")]
    Create {
        #[command(flatten)]
        of: InWorld,
        /// https://…; in test also http://… within outbound.allowed_networks
        url: String,
        /// Event types, group.* or *
        #[arg(long, value_name = "TYPES", value_delimiter = ',', default_value = "*")]
        types: Vec<String>,
        /// Display name
        #[arg(long)]
        name: Option<String>,
        /// Create it disabled, until `vestry webhook enable`
        #[arg(long)]
        disabled: bool,
    },
    /// List an App's webhook endpoints
    List(InApp),
    /// Show an endpoint, its health and signing secrets
    Show(WhichWebhook),
    /// Change an endpoint's URL, event types or name
    ///
    /// Omitted options keep their value.
    Set {
        #[command(flatten)]
        which: WhichWebhook,
        /// New URL
        #[arg(long)]
        url: Option<String>,
        /// Event types, group.* or *
        #[arg(long, value_name = "TYPES", value_delimiter = ',')]
        types: Option<Vec<String>>,
        /// Display name; empty removes it
        #[arg(long)]
        name: Option<String>,
    },
    /// Create a new signing secret; it is shown once
    ///
    /// The previous secret keeps signing too until the overlap ends.
    RotateSecret {
        #[command(flatten)]
        which: WhichWebhook,
        /// Minutes for which the previous secret also signs, 0 to 10080
        #[arg(long, value_name = "MINUTES", default_value_t = 1440)]
        overlap: i64,
    },
    /// Resume deliveries, including those held while disabled
    Enable {
        #[command(flatten)]
        which: WhichWebhook,
        /// Discard the held deliveries
        #[arg(long)]
        drop_held: bool,
    },
    /// Stop deliveries
    ///
    /// Pending deliveries are held for 30 days. New events are skipped while the endpoint is disabled.
    Disable(WhichWebhook),
    /// Send a signed sample event
    ///
    /// The exit code is 1 unless the endpoint returns 2xx.
    Test {
        #[command(flatten)]
        which: WhichWebhook,
        /// Event type of the sample [default: webhook.test]
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<EventKind>,
    },
    /// Redeliver one event, all failed events, or a range
    ///
    /// The running service sends 50 events a second; `vestry webhook replays` shows the progress.
    Replay(Replay),
    /// List bulk replays and their progress, newest first
    Replays(WhichWebhook),
    /// List deliveries, newest first, or show one
    ///
    /// With a delivery ID, the delivery is shown with its attempts.
    Deliveries(Deliveries),
    /// Delete an endpoint and its pending deliveries
    Delete(WhichWebhook),
}

/// The arguments that select a webhook endpoint.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct WhichWebhook {
    #[command(flatten)]
    of: InApp,
    /// Endpoint ID (whep_…)
    id: WebhookEndpointId,
}

/// The arguments of `vestry webhook replay`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true))]
pub(crate) struct Replay {
    #[command(flatten)]
    which: WhichWebhook,
    /// Event ID (event_…)
    #[arg(long, value_name = "ID", group = "what")]
    event: Option<EventId>,
    /// Delivery ID; redelivers its event (whdel_…)
    #[arg(long, value_name = "ID", group = "what")]
    delivery: Option<WebhookDeliveryId>,
    /// Redeliver all events that failed since this time (Unix seconds)
    #[arg(long, value_name = "SECONDS", group = "what")]
    failed_since: Option<i64>,
    /// Redeliver matching events after this one (event_…)
    #[arg(long, value_name = "ID", group = "what")]
    after: Option<EventId>,
    /// Last event of the range [default: the newest] (event_…)
    #[arg(long, value_name = "ID", requires = "after")]
    until: Option<EventId>,
}

/// The arguments of `vestry webhook deliveries`.
#[derive(Debug, Args)]
pub(crate) struct Deliveries {
    #[command(flatten)]
    which: WhichWebhook,
    /// Delivery ID (whdel_…)
    delivery: Option<WebhookDeliveryId>,
    /// Only this state: waiting, held, delivered, exhausted or dropped
    #[arg(long)]
    state: Option<DeliveryState>,
    /// Only this event (event_…)
    #[arg(long, value_name = "ID")]
    event: Option<EventId>,
    /// Maximum number of deliveries, 1 to 1000
    #[arg(long, default_value_t = 50)]
    limit: i64,
}

impl Webhook {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let service = installation.service().await?;
        match self {
            Self::Create {
                of,
                url,
                types,
                name,
                disabled,
            } => {
                let new = NewEndpoint {
                    url,
                    name,
                    types,
                    enabled: !disabled,
                };
                let (listed, secret) = service
                    .add_webhook(Principal::cli(), of.world(), new)
                    .await?;
                Ok(output::endpoint_with_secret(&listed, &secret))
            }
            Self::List(of) => Ok(output::endpoints(
                &service
                    .list_webhooks(Principal::cli(), of.app.into())
                    .await?,
            )),
            Self::Show(WhichWebhook { of, id }) => Ok(output::endpoint(
                &service
                    .show_webhook(Principal::cli(), of.app.into(), id)
                    .await?,
            )),
            Self::Set {
                which: WhichWebhook { of, id },
                url,
                types,
                name,
            } => {
                let change = EndpointChange {
                    url,
                    types,
                    name: name.map(|name| Some(name).filter(|name| !name.is_empty())),
                };
                let changed = service
                    .change_webhook(Principal::cli(), of.app.into(), id, change)
                    .await?;
                Ok(output::endpoint(&changed))
            }
            Self::RotateSecret {
                which: WhichWebhook { of, id },
                overlap,
            } => {
                let secret = service
                    .rotate_webhook_secret(Principal::cli(), of.app.into(), id, overlap)
                    .await?;
                let shown = service
                    .show_webhook(Principal::cli(), of.app.into(), id)
                    .await?;
                Ok(output::endpoint_with_secret(&shown, &secret))
            }
            Self::Enable {
                which: WhichWebhook { of, id },
                drop_held,
            } => {
                let resume = if drop_held {
                    Resume::Nothing
                } else {
                    Resume::All
                };
                let enabled = service
                    .enable_webhook(Principal::cli(), of.app.into(), id, resume)
                    .await?;
                Ok(output::endpoint(&enabled))
            }
            Self::Disable(WhichWebhook { of, id }) => {
                let disabled = service
                    .disable_webhook(Principal::cli(), of.app.into(), id)
                    .await?;
                Ok(output::endpoint(&disabled))
            }
            Self::Test {
                which: WhichWebhook { of, id },
                kind,
            } => Ok(output::trial(
                &service
                    .try_webhook(Principal::cli(), of.app.into(), id, kind)
                    .await?,
            )),
            Self::Replay(command) => command.run(&service).await,
            Self::Replays(WhichWebhook { of, id }) => Ok(output::replays(
                &service
                    .list_replays(Principal::cli(), of.app.into(), id)
                    .await?,
            )),
            Self::Deliveries(command) => command.run(&service).await,
            Self::Delete(WhichWebhook { of, id }) => {
                service
                    .remove_webhook(Principal::cli(), of.app.into(), id)
                    .await?;
                Ok(Output::new(
                    json!({ "id": id, "removed": true }),
                    format!("Removed {id}."),
                ))
            }
        }
    }
}

impl Replay {
    async fn run(self, service: &Service) -> Result<Output, Failure> {
        let WhichWebhook { of, id } = self.which;
        let event = self.event.map(Replayed::Event);
        if let Some(what) = event.or(self.delivery.map(Replayed::Delivery)) {
            let delivery = service
                .replay_webhook(Principal::cli(), of.app.into(), id, what)
                .await?;
            return Ok(output::redelivery(&delivery));
        }
        let since = self.failed_since.map(Timestamp::from_unix);
        let until = self.until;
        let range = self
            .after
            .map(|after| ReplaySelection::Range { after, until });
        let wanted = since
            .map(ReplaySelection::FailedSince)
            .or(range)
            .ok_or_else(|| {
                Failure::usage("specify --event, --delivery, --failed-since or --after")
            })?;
        let replay = service
            .replay_missed(Principal::cli(), of.app.into(), id, wanted)
            .await?;
        Ok(output::replay_started(&replay, of.app, id))
    }
}

impl Deliveries {
    async fn run(self, service: &Service) -> Result<Output, Failure> {
        let WhichWebhook { of, id } = self.which;
        if let Some(delivery) = self.delivery {
            let (delivery, attempts) = service
                .show_delivery(Principal::cli(), of.app.into(), id, delivery)
                .await?;
            return Ok(output::delivery(&delivery, &attempts));
        }
        let filter = DeliveryFilter {
            state: self.state,
            event_id: self.event,
            ..DeliveryFilter::default()
        };
        let found = service
            .list_deliveries(Principal::cli(), of.app.into(), id, filter, self.limit)
            .await?;
        Ok(output::deliveries(&found))
    }
}
