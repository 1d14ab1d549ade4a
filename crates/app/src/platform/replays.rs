//! `vestry webhook replay` for many events. The command stores the replay, and the webhook workers carry it out.

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::extent::Extent;
use vestry_domain::ids::{EventId, WebhookEndpointId};
use vestry_domain::webhook::{Endpoint, MAX_REPLAYED, Missed, Replay};
use vestry_domain::{Invalid, Timestamp};
use vestry_ports::store::PositionRange;

use super::webhooks::NO_ENDPOINT;
use crate::delivery::webhooks::fitting;
use crate::kernel::fault::retried;
use crate::{Principal, Refusal, Service};

/// Selection of the events to replay.
#[derive(Debug, Clone, Copy)]
pub enum ReplaySelection {
    /// Events whose latest delivery was exhausted (all attempts failed) at or after this time.
    FailedSince(Timestamp),
    /// The events of the log after one event, up to another or the newest, that match the endpoint's types.
    Range {
        /// The event to start after (exclusive).
        after: EventId,
        /// The last event (inclusive); `None` for the newest.
        until: Option<EventId>,
    },
}

impl ReplaySelection {
    fn detail(self) -> Detail {
        let detail = Detail::default();
        match self {
            Self::FailedSince(since) => detail.with("failed_since", since.unix()),
            Self::Range { after, until } => {
                let detail = detail.with("after", after.to_string());
                match until {
                    Some(until) => detail.with("until", until.to_string()),
                    None => detail,
                }
            }
        }
    }
}

impl Service {
    /// Starts a replay of missed events to an endpoint at 50 events a second, alongside new deliveries.
    ///
    /// Returns at once; the stored replay reports the progress.
    ///
    /// # Errors
    /// [`Refusal`] if the endpoint is disabled, one of its replays is still running, more than 100,000 events match, or the event does
    /// not exist.
    pub async fn replay_missed(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
        wanted: ReplaySelection,
    ) -> Result<Replay, Refusal> {
        by.authorize(Action::ReplayDeliveries, of)?;
        let endpoint = self.show_webhook(by, of, id).await?.endpoint;
        if endpoint.disabled.is_some() {
            return Err(Refusal::NotNow(
                "the webhook endpoint is disabled; enable it first",
            ));
        }
        let now = self.ports.clock.machine();
        let (missed, count) = self.missed(&endpoint, wanted, now).await?;
        if count > MAX_REPLAYED {
            let message = format!(
                "replay selects {count} events, but the maximum is {MAX_REPLAYED}; choose a smaller range"
            );
            return Err(Invalid::value("replay", message).into());
        }
        let replay = Replay {
            id: self.new_id(now),
            world: endpoint.world,
            endpoint_id: id,
            missed,
            count,
            done: 0,
            next_at: now,
            created_at: now,
            ended_at: None,
        };
        let detail = wanted
            .detail()
            .with("replay_id", replay.id.to_string())
            .with("count", count);
        retried(|| self.begin_replay(by, &replay, &detail)).await?;
        Ok(replay)
    }

    /// Returns the selection to store and the number of events in it now.
    async fn missed(
        &self,
        endpoint: &Endpoint,
        wanted: ReplaySelection,
        now: Timestamp,
    ) -> Result<(Missed, i64), Refusal> {
        let Endpoint { world, id, .. } = endpoint;
        let mut read = self.ports.store.read().await?;
        match wanted {
            ReplaySelection::FailedSince(since) => {
                let missed = Missed::Exhausted { since, after: None };
                let deliveries = read.deliveries();
                let count = deliveries.count_exhausted(world, *id, since..=now).await?;
                Ok((missed, count))
            }
            ReplaySelection::Range { after, until } => {
                let head = read.events().head(world).await?;
                let mut place = async |event| -> Result<i64, Refusal> {
                    let found = read.events().find(world, event).await?;
                    Ok(found.ok_or(Refusal::NotFound("event"))?.position)
                };
                let after = place(after).await?;
                let until = match until {
                    Some(until) => place(until).await?,
                    None => head.position(),
                };
                if until < after {
                    let message = "until must not be earlier than after; swap the two events";
                    return Err(Invalid::value("until", message).into());
                }
                let stretch = PositionRange {
                    from: after.saturating_add(1),
                    to: until,
                    descending: false,
                };
                let filter = fitting(endpoint);
                let count = read.events().count(world, stretch, &filter).await?;
                Ok((Missed::Range { after, until }, count))
            }
        }
    }

    async fn begin_replay(
        &self,
        by: &Principal,
        replay: &Replay,
        detail: &Detail,
    ) -> Result<(), Refusal> {
        let (world, endpoint) = (replay.world, replay.endpoint_id);
        let mut tx = self.begin_change([world]).await?;
        // The lock conflicts with a concurrent removal, so a removed endpoint is left without deliveries.
        if !tx.webhook_endpoints().lock(&world, endpoint).await? {
            return Err(NO_ENDPOINT);
        }
        if !tx.webhook_replays().insert(replay).await? {
            return Err(Refusal::NotNow(
                "a replay of this webhook endpoint is already running; wait until it has finished",
            ));
        }
        let action = ControlAction::WebhookEndpointReplay;
        tx.note(self.done(&by.at(world), action, endpoint, detail));
        Ok(tx.commit_last(by).await?)
    }

    /// Lists the replays of an endpoint, newest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_replays(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
    ) -> Result<Vec<Replay>, Refusal> {
        by.authorize(Action::ReadWebhooks, of)?;
        let world = self.endpoint_of(of, id).await?.world;
        let mut read = self.ports.store.read().await?;
        Ok(read.webhook_replays().list(&world, id).await?)
    }
}
