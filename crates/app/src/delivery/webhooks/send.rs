//! The webhook worker: claims due deliveries for each endpoint separately, sends them, and retries failed ones.
//!
//! Delivery is at least once. If a process dies between the endpoint's response and recording it, the delivery is sent again with the same
//! `webhook-id`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, MissedTickBehavior};
use vestry_domain::activity::{Latency, Measure, WebhookOutcome};
use vestry_domain::event::Event;
use vestry_domain::ids::AppId;
use vestry_domain::metric::{Job, WebhookResult};
use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::{
    Attempt, AttemptOutcome, Delivery, EndpointUrl, Failing, SigningSecret, judge,
};
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::meter::{Counted, Gauge};
use vestry_ports::store::{Lane, Partitions, Queue};
use vestry_ports::webhooks::{WebhookAnswer, WebhookError, WebhookSender};

use super::{opened_secrets, webhook_request};
use crate::delivery::events::show_addresses;
use crate::kernel::fault::{causes, retried};
use crate::kernel::measures::seconds;
use crate::kernel::partition;
use crate::kernel::state::delivery_outcomes::DeliveryOutcome;
use crate::kernel::state::delivery_scheduler::Showing;
use crate::{Fault, Service};

/// Lease of a claimed delivery: several times the maximum duration of an attempt.
const LEASE: Seconds = Seconds(60);
/// Poll interval, for deliveries from other processes and due retries.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Maximum queues per poll; the next poll continues after them.
const QUEUES: usize = 256;

/// A claimed delivery and everything needed to send it.
struct ClaimedDelivery {
    queue: Queue,
    delivery: Delivery,
    /// The event; `None` if it no longer exists.
    event: Option<Event>,
    to: Arc<Target>,
}

/// The endpoint's URL and secrets.
struct Target {
    url: EndpointUrl,
    /// The signing secrets, newest first.
    secrets: Vec<SigningSecret>,
}

impl Service {
    /// Sends deliveries until `stop` completes, then finishes the attempts in flight.
    pub async fn run_webhooks(&self, stop: impl Future<Output = ()>) {
        let Some(sender) = self.ports.webhooks.as_deref() else {
            return;
        };
        let mut stop = std::pin::pin!(stop);
        let mut under_way = FuturesUnordered::new();
        // At most one poll runs at a time. It takes longer the more queues there are, and nothing waits for it.
        let mut looking = FuturesUnordered::new();
        let mut second = tokio::time::interval(LOOK_EVERY);
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut cursor = None;
        'working: loop {
            while let Some((queue, room)) = self.webhooks.next() {
                // Keep driving the attempts in flight: one of them may hold the connection that the claim waits for.
                let mut taking = std::pin::pin!(self.taken_from(queue, room));
                let claimed = loop {
                    tokio::select! {
                        biased;
                        () = &mut stop => break 'working,
                        claimed = &mut taking => break claimed,
                        Some(seen) = looking.next() => cursor = seen,
                        Some(()) = under_way.next() => {}
                    }
                };
                under_way.extend(
                    claimed
                        .into_iter()
                        .map(|delivery| self.send_event(sender, delivery)),
                );
            }
            tokio::select! {
                biased;
                () = &mut stop => break,
                // This comes before the attempts, which could otherwise always be ready and starve it.
                Some(seen) = looking.next() => cursor = seen,
                Some(()) = under_way.next() => {}
                () = self.webhooks.rung() => {}
                _ = second.tick(), if looking.is_empty() => looking.push(self.look_for_work(cursor)),
            }
        }
        // The poll may hold a connection that the attempts wait for.
        drop(looking);
        while under_way.next().await.is_some() {}
    }

    /// Sends all due deliveries and returns their number, for callers that cannot rely on the background worker.
    ///
    /// # Errors
    /// The queues could not be read.
    pub async fn send_due(&self) -> Result<usize, Fault> {
        let Some(sender) = self.ports.webhooks.as_deref() else {
            return Ok(0);
        };
        let mut sent = 0;
        self.step_replays().await?;
        loop {
            let mut cursor = None;
            self.queues_behind(&mut cursor).await?;
            let mut claimed = Vec::new();
            while let Some((queue, room)) = self.webhooks.next() {
                claimed.extend(self.taken_from(queue, room).await);
            }
            if claimed.is_empty() {
                return Ok(sent);
            }
            sent += claimed.len();
            let sending = claimed
                .into_iter()
                .map(|delivery| self.send_event(sender, delivery));
            futures_util::future::join_all(sending).await;
        }
    }

    /// Polls for due work and returns where the next poll begins.
    async fn look_for_work(&self, mut cursor: Option<Queue>) -> Option<Queue> {
        if let Err(fault) = self.step_replays().await
            // If a database server is down, replays pause until it is back.
            && self.ports.store.partitions() == Partitions::One
        {
            tracing::warn!(
                error = causes(&fault),
                "webhook replays could not be read; retrying"
            );
        }
        self.look_for_queues(&mut cursor).await;
        cursor
    }

    /// Marks queues with due deliveries, starting after the end of the last poll.
    async fn look_for_queues(&self, cursor: &mut Option<Queue>) {
        let Err(fault) = self.queues_behind(cursor).await else {
            self.job_succeeded(Job::Deliver);
            return;
        };
        *cursor = None;
        if self.ports.store.partitions() == Partitions::One {
            tracing::warn!(
                error = causes(&fault),
                "webhook queue poll failed; retrying"
            );
            return;
        }
        // A database server is down. Poll each App, so that Apps on other servers are not delayed.
        let apps = match self.ports.store.read().await {
            Ok(mut read) => read.apps().list().await.unwrap_or_default(),
            Err(_away) => return,
        };
        for app in apps {
            let looking = self.queues_of(app.id);
            let looked = partition::limited(Partitions::PerApp, looking).await;
            if looked.is_err() {
                tracing::debug!(app = %app.id, "webhook queue poll failed for this App");
            }
        }
    }

    async fn queues_behind(&self, cursor: &mut Option<Queue>) -> Result<(), Fault> {
        let (mut clocks, mut lag) = (HashMap::new(), Seconds(0));
        for _ in 0..QUEUES {
            let mut read = self.ports.store.read().await?;
            let found = read.deliveries().next_queue(None, *cursor).await?;
            drop(read);
            let Some((queue, due_at)) = found else {
                *cursor = None;
                self.meter().set(Gauge::WebhookLag, seconds(lag));
                return Ok(());
            };
            *cursor = Some(queue);
            // Retries of a test environment follow its own clock.
            if queue.lane != Lane::Retry {
                lag = lag.max(self.machine_time() - due_at);
            }
            self.ring_if_due(queue, due_at, &mut clocks).await?;
        }
        Ok(())
    }

    async fn queues_of(&self, app: AppId) -> Result<(), Fault> {
        let (mut last, mut clocks) = (None, HashMap::new());
        for _ in 0..QUEUES {
            let mut read = self.ports.store.read().await?;
            let found = read.deliveries().next_queue(Some(app), last).await?;
            drop(read);
            let Some((queue, due_at)) = found else {
                return Ok(());
            };
            last = Some(queue);
            self.ring_if_due(queue, due_at, &mut clocks).await?;
        }
        Ok(())
    }

    /// Marks a queue if its first delivery is due. `clocks` caches the test clocks read so far.
    async fn ring_if_due(
        &self,
        queue: Queue,
        due_at: Timestamp,
        clocks: &mut HashMap<World, Timestamp>,
    ) -> Result<(), Fault> {
        let world = queue.world;
        let now = match (queue.lane, clocks.get(&world)) {
            (Lane::First | Lane::Timed, _) => self.ports.clock.machine(),
            (Lane::Retry, Some(now)) => *now,
            (Lane::Retry, None) => {
                let now = self.latest_now(world).await?;
                clocks.insert(world, now);
                now
            }
        };
        if due_at <= now {
            self.webhooks.ring([queue]);
        }
        Ok(())
    }

    /// Returns the time of an environment, with a test clock as last set by any process. Retry delays follow it.
    async fn latest_now(&self, world: World) -> Result<Timestamp, Fault> {
        if world.environment == Environment::Test {
            let mut read = self.ports.store.read().await?;
            if let Some(app) = read.apps().find(world.app_id).await? {
                self.test_clocks.follow(app.id, app.test_clock);
            }
        }
        Ok(self.now(&world))
    }

    /// Claims due deliveries of a queue, up to its capacity.
    async fn taken_from(&self, queue: Queue, room: usize) -> Vec<ClaimedDelivery> {
        let taking = retried(|| self.claim_from(queue, room));
        match partition::limited(self.ports.store.partitions(), taking).await {
            Ok(claimed) => {
                for _ in &claimed {
                    self.webhooks.begin(&queue);
                }
                // There may be more.
                if claimed.len() >= room {
                    self.webhooks.ring([queue]);
                }
                claimed
            }
            // The next poll finds it again.
            Err(fault) => {
                tracing::warn!(
                    endpoint = %queue.endpoint_id,
                    error = causes(&fault),
                    "webhook deliveries could not be claimed; retrying"
                );
                Vec::new()
            }
        }
    }

    async fn claim_from(&self, queue: Queue, room: usize) -> Result<Vec<ClaimedDelivery>, Fault> {
        let world = queue.world;
        let machine = self.ports.clock.machine();
        let now = match queue.lane {
            Lane::First | Lane::Timed => machine,
            Lane::Retry => self.latest_now(world).await?,
        };
        let mut tx = self.ports.store.begin().await?;
        // Check this within the transaction: a disabled endpoint receives only attempts already in flight (WH-10).
        let endpoint = tx.webhook_endpoints().find(&world, queue.endpoint_id);
        let Some(endpoint) = endpoint.await?.filter(|found| found.disabled.is_none()) else {
            self.webhooks.forget(world, queue.endpoint_id);
            return Ok(Vec::new());
        };
        let limit = i64::try_from(room).unwrap_or(i64::MAX);
        let until = machine + LEASE;
        let taken = tx.deliveries().claim(&queue, now, until, limit).await?;
        if taken.is_empty() {
            return Ok(Vec::new());
        }
        let secrets = tx.webhook_endpoints();
        let secrets = secrets.secrets(&world, endpoint.id, machine).await?;
        let app = tx.apps().find(world.app_id).await?;
        let shows_addresses = app.is_some_and(|app| app.settings.event_addresses);
        let ids: Vec<_> = taken.iter().map(|delivery| delivery.event_id).collect();
        let mut events = tx.events().find_all(&world, &ids).await?;
        if shows_addresses {
            show_addresses(&mut *tx, &mut events).await?;
        }
        let events = events.into_iter().map(|event| (event.event.id, event));
        let events: HashMap<_, _> = events.collect();
        let to = Arc::new(Target {
            url: endpoint.url,
            secrets: opened_secrets(&*self.ports.sealer, &secrets).await?,
        });
        tx.commit().await?;
        // The same event can occur twice: as a delivery and as a replay.
        let claimed = |delivery: Delivery| ClaimedDelivery {
            queue,
            event: events.get(&delivery.event_id).cloned(),
            delivery,
            to: Arc::clone(&to),
        };
        Ok(taken.into_iter().map(claimed).collect())
    }

    async fn send_event(&self, sender: &dyn WebhookSender, claimed: ClaimedDelivery) {
        let ClaimedDelivery {
            queue,
            delivery,
            event,
            to,
        } = claimed;
        let at = self.ports.clock.machine();
        let begun = Instant::now();
        let body = event.as_ref().map(Event::json).transpose();
        let Ok(Some(body)) = body else {
            // The event expired before its delivery: the App's retention is shorter than the retry period.
            self.webhooks.end(&queue, Showing::Unasked);
            let now = self.now(&delivery.world);
            self.note(DeliveryOutcome::gone(delivery, now)).await;
            return;
        };
        let mut besides = vec![
            ("vestry-delivery", delivery.id.to_string()),
            ("vestry-attempt", delivery.attempts.to_string()),
        ];
        if delivery.is_replay {
            besides.push(("vestry-replay", "true".to_owned()));
        }
        let request = webhook_request(&to.url, &to.secrets, delivery.event_id, at, body, besides);
        let answer = sender.send(request).await;
        let duration = begun.elapsed();
        let outcome = outcome_of(&answer);
        let result = result_of(&answer, outcome);
        self.ports.meter.count(Counted::WebhookAttempt(result));
        let attempt = Attempt {
            world: delivery.world,
            delivery_id: delivery.id,
            endpoint_id: delivery.endpoint_id,
            number: delivery.attempts,
            at,
            duration_ms: u32::try_from(duration.as_millis()).unwrap_or(u32::MAX),
            status: answer.as_ref().ok().map(|answer| answer.status),
            error: answer.as_ref().err().map(WebhookError::to_string),
            response_excerpt: answer.ok().and_then(|answer| answer.excerpt),
        };
        let showing = match outcome {
            AttemptOutcome::Delivered => Showing::Took,
            AttemptOutcome::Gone => Showing::Failed { is_overload: true },
            AttemptOutcome::Failed(failing) => Showing::Failed {
                is_overload: failing.is_overload,
            },
        };
        let now = match outcome {
            AttemptOutcome::Delivered => self.now(&delivery.world),
            // The delay starts now, and the test clock may have been moved during the attempt.
            AttemptOutcome::Failed(_) | AttemptOutcome::Gone => {
                let read = self.latest_now(delivery.world).await;
                read.unwrap_or_else(|_away| self.now(&delivery.world))
            }
        };
        self.note(DeliveryOutcome {
            drawn: self.drawn(),
            now,
            delivery,
            attempt: Some(attempt),
            outcome,
        })
        .await;
        // Free the slot only after recording, so that attempts do not outpace recording.
        self.webhooks.end(&queue, showing);
    }

    fn drawn(&self) -> u8 {
        let mut byte = [0_u8; 1];
        self.ports.entropy.fill(&mut byte);
        let [byte] = byte;
        byte
    }

    async fn note(&self, note: DeliveryOutcome) {
        let id = note.delivery.id;
        let world = note.delivery.world;
        let attempted = note.attempt.as_ref().map(|attempt| {
            let latency = Latency::of(attempt.duration_ms);
            (WebhookOutcome::from(note.outcome), latency)
        });
        match self.batched(&self.delivery_outcomes, note).await {
            Some(Ok(())) => {
                if let Some((outcome, latency)) = attempted {
                    self.tally.add(world, Measure::Webhook(outcome), 1);
                    self.tally.add(world, Measure::WebhookMs(latency), 1);
                }
            }
            // If recording fails, the event is sent again when the lease expires.
            None => {
                tracing::warn!(delivery = %id, "webhook attempt not recorded (panic); the event may be sent again");
            }
            Some(Err(fault)) => {
                tracing::warn!(delivery = %id, error = causes(&fault), "webhook attempt not recorded; the event may be sent again");
            }
        }
    }
}

const fn result_of(
    answer: &Result<WebhookAnswer, WebhookError>,
    outcome: AttemptOutcome,
) -> WebhookResult {
    match (answer, outcome) {
        (Ok(_), AttemptOutcome::Delivered) => WebhookResult::Ok,
        (Err(WebhookError::NotAllowed), _) => WebhookResult::Refused,
        (Err(WebhookError::Late), _) => WebhookResult::Timeout,
        _ => WebhookResult::Failed,
    }
}

fn outcome_of(answer: &Result<WebhookAnswer, WebhookError>) -> AttemptOutcome {
    match answer {
        Ok(answer) => judge(answer.status, answer.retry_after),
        Err(_none) => AttemptOutcome::Failed(Failing::default()),
    }
}
