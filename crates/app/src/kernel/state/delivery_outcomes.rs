//! Records the outcomes of webhook attempts in batches, one transaction for all that end at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use vestry_domain::app::App;
use vestry_domain::audit::control::{ControlAction, ControlEvent, Detail, Outcome};
use vestry_domain::event::{Actor, Fact, NewEvent};
use vestry_domain::ids::{AppId, EventId, WebhookEndpointId};
use vestry_domain::message::OutboxJob;
use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::{
    Attempt, AttemptOutcome, Delivery, DeliveryState, DisabledReason, Trouble, wait_after,
};
use vestry_domain::{Timestamp, World};
use vestry_ports::clock::Clock;
use vestry_ports::entropy::Entropy;
use vestry_ports::store::{Failures, Repositories, Store};

use crate::Fault;
use crate::kernel::batcher::Batch;
use crate::kernel::fault::retried;
use crate::kernel::mint;
use crate::kernel::ports::Ports;
use crate::kernel::state::control_trail::ControlTrail;
use crate::kernel::state::endpoint_notices::{EndpointNotices, Troubled};

/// Attempt of a delivery from which its endpoint counts as failing.
const FAILING_FROM: u32 = 3;
/// How long an endpoint fails before an event is emitted.
const EVENT_AFTER: Seconds = Seconds(86_400);
/// Minimum failed attempts, and minimum deliveries they belong to, before an endpoint is disabled.
const LEAST_ATTEMPTS: i64 = 10;
const LEAST_DELIVERIES: i64 = 2;

/// The outcome of one attempt.
pub(crate) struct DeliveryOutcome {
    /// The delivery as claimed.
    pub(crate) delivery: Delivery,
    /// The attempt; `None` if nothing was sent.
    pub(crate) attempt: Option<Attempt>,
    pub(crate) outcome: AttemptOutcome,
    /// Random byte for the retry delay.
    pub(crate) drawn: u8,
    /// The time of the environment, from which the retry delay counts.
    pub(crate) now: Timestamp,
}

impl DeliveryOutcome {
    /// Returns the outcome for a delivery whose event no longer exists.
    pub(crate) const fn gone(delivery: Delivery, now: Timestamp) -> Self {
        Self {
            delivery,
            now,
            attempt: None,
            outcome: AttemptOutcome::Delivered,
            drawn: 0,
        }
    }
}

/// The writer of outcomes.
pub(crate) struct DeliveryOutcomes {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    control: Arc<ControlTrail>,
    notices: EndpointNotices,
}

/// Events to emit, audit entries to write and mails to send about changed endpoints.
#[derive(Default)]
struct Tidings {
    events: Vec<NewEvent>,
    noted: Vec<ControlEvent>,
    troubled: Vec<Troubled>,
}

/// Mails, written before the transaction that enqueues them.
type Letters = BTreeMap<Troubled, Vec<OutboxJob>>;

impl Tidings {
    /// Queues a mail about an endpoint, in place of an earlier one of this batch.
    fn trouble(&mut self, world: World, endpoint: WebhookEndpointId, trouble: Trouble) {
        self.troubled
            .retain(|troubled| troubled.endpoint != endpoint);
        self.troubled.push(Troubled {
            world,
            endpoint,
            trouble,
        });
    }
}

/// Summary of a batch for one endpoint.
#[derive(Default)]
struct Tally {
    took: bool,
    is_gone: bool,
    failed_attempts: i64,
    failed_deliveries: i64,
    is_failing: bool,
    now: Timestamp,
}

impl Tally {
    fn add(&mut self, note: &DeliveryOutcome) {
        let delivery = &note.delivery;
        self.now = note.now;
        match note.outcome {
            AttemptOutcome::Delivered => self.took = true,
            AttemptOutcome::Gone => self.is_gone = true,
            AttemptOutcome::Failed(_) => {
                self.failed_attempts += 1;
                self.failed_deliveries += i64::from(delivery.attempts == 1);
                self.is_failing |= delivery.attempts >= FAILING_FROM;
            }
        }
    }
}

impl DeliveryOutcomes {
    pub(crate) fn new(ports: &Ports, control: &Arc<ControlTrail>) -> Self {
        Self {
            store: Arc::clone(&ports.store),
            clock: Arc::clone(&ports.clock),
            entropy: Arc::clone(&ports.entropy),
            control: Arc::clone(control),
            notices: EndpointNotices::new(ports),
        }
    }

    /// Writes all outcomes or none.
    async fn write(&self, notes: &[DeliveryOutcome]) -> Result<(), Fault> {
        let mut letters = Letters::new();
        loop {
            let missing = self.try_to_write(notes, &letters).await?;
            if missing.is_empty() {
                return Ok(());
            }
            for troubled in missing {
                let written = self.notices.letters(&troubled).await;
                letters.insert(troubled, written);
            }
        }
    }

    /// Returns the mails that are due and not among `letters`. If there are any, nothing is written.
    async fn try_to_write(
        &self,
        notes: &[DeliveryOutcome],
        letters: &Letters,
    ) -> Result<Vec<Troubled>, Fault> {
        let now = self.clock.machine();
        let failed = notes
            .iter()
            .filter(|note| !matches!(note.outcome, AttemptOutcome::Delivered));
        for world in failed
            .map(|note| note.delivery.world)
            .collect::<BTreeSet<_>>()
        {
            // Ignore errors: the key is needed only if an endpoint gets disabled.
            drop(self.control.make_ready(&world).await);
        }
        let mut tx = self.store.begin().await?;
        let mut attempts = Vec::with_capacity(notes.len());
        // Use one order everywhere to avoid deadlocks between processes.
        let mut tallies: BTreeMap<(World, WebhookEndpointId), Tally> = BTreeMap::new();
        for note in notes {
            let is_held = end(&mut *tx, note, now).await?;
            let Some(attempt) = &note.attempt else {
                continue;
            };
            attempts.push(attempt.clone());
            if is_held {
                let key = (note.delivery.world, note.delivery.endpoint_id);
                let tally = tallies.entry(key).or_default();
                tally.add(note);
            }
        }
        tx.deliveries().note_attempts(&attempts).await?;
        let mut tidings = Tidings::default();
        for ((world, endpoint), tally) in tallies {
            self.judge(&mut *tx, world, endpoint, &tally, &mut tidings)
                .await?;
        }
        let Tidings {
            events,
            noted,
            troubled,
        } = tidings;
        let mut missing = Vec::new();
        for troubled in troubled {
            if !self.notices.is_possible || !troubled.is_due(&mut *tx, now).await? {
                continue;
            }
            let Some(letters) = letters.get(&troubled) else {
                missing.push(troubled);
                continue;
            };
            for letter in letters {
                tx.outbox().push(letter).await?;
            }
        }
        if !missing.is_empty() {
            return Ok(missing);
        }
        if !events.is_empty() {
            tx.events().append(&events).await?;
        }
        let ends = self.control.write(&mut *tx, noted).await?;
        tx.commit().await?;
        self.control.committed(ends);
        Ok(Vec::new())
    }

    /// Updates the health of an endpoint.
    async fn judge(
        &self,
        tx: &mut dyn Repositories,
        world: World,
        endpoint: WebhookEndpointId,
        tally: &Tally,
        tidings: &mut Tidings,
    ) -> Result<(), Fault> {
        // Failure times follow the clock of the environment, as retry delays do.
        let (now, machine) = (tally.now, self.clock.machine());
        let endpoints = tx.webhook_endpoints();
        if tally.is_gone {
            let reason = DisabledReason::Gone;
            if endpoints.disable(&world, endpoint, reason, machine).await? {
                self.disabled(world, endpoint, reason, now, tidings);
            }
            return Ok(());
        }
        if tally.took {
            endpoints.note_success(&world, endpoint, machine).await?;
            return Ok(());
        }
        let failures = endpoints.note_failures(
            &world,
            endpoint,
            tally.failed_attempts,
            tally.failed_deliveries,
            tally.is_failing,
            now,
        );
        let Some(failures) = failures.await? else {
            return Ok(());
        };
        let is_old = |since: Timestamp| since + EVENT_AFTER <= now;
        if failures.failing_since.is_some_and(is_old)
            && endpoints.note_owner_notified(&world, endpoint).await?
        {
            let fact = Fact::webhook_endpoint_failing(endpoint);
            tidings.events.push(self.event(world, now, fact));
            tidings.trouble(world, endpoint, Trouble::Failing);
        }
        if has_failed_enough(&failures) {
            let app = tx.apps().find(world.app_id).await?;
            let reason = DisabledReason::Failing;
            if app.is_some_and(|app| has_failed_for_long(&app, &failures, now))
                && tx
                    .webhook_endpoints()
                    .disable(&world, endpoint, reason, machine)
                    .await?
            {
                self.disabled(world, endpoint, reason, now, tidings);
            }
        }
        Ok(())
    }

    /// Queues the event and audit entry about a disabled endpoint. `now` is the time of the environment.
    fn disabled(
        &self,
        world: World,
        endpoint: WebhookEndpointId,
        reason: DisabledReason,
        now: Timestamp,
        tidings: &mut Tidings,
    ) {
        let fact = Fact::webhook_endpoint_disabled(endpoint, reason);
        tidings.events.push(self.event(world, now, fact));
        tidings.trouble(world, endpoint, Trouble::Disabled(reason));
        tidings.noted.push(ControlEvent {
            world,
            actor: Actor::System,
            action: ControlAction::WebhookEndpointDisable,
            subject: endpoint.into(),
            detail: Detail::default().with("reason", reason.as_str()).text(),
            outcome: Outcome::Done,
            request_id: None,
            at: self.clock.machine(),
        });
    }

    fn event(&self, world: World, now: Timestamp, fact: Fact) -> NewEvent {
        let id: EventId = mint::id(&*self.entropy, self.clock.machine());
        NewEvent {
            id,
            world,
            kind: fact.kind,
            user_id: fact.user_id,
            wallet_id: fact.wallet_id,
            actor: Actor::System,
            request_id: None,
            data: fact.data(),
            created_at: now,
        }
    }
}

const fn has_failed_enough(failures: &Failures) -> bool {
    failures.attempts >= LEAST_ATTEMPTS && failures.deliveries >= LEAST_DELIVERIES
}

fn has_failed_for_long(app: &App, failures: &Failures, now: Timestamp) -> bool {
    let days = app.settings.webhook_disable_after_days;
    days > 0 && failures.since + Seconds(days.saturating_mul(86_400)) <= now
}

/// Ends a delivery or schedules a retry. Returns `false` if another worker has taken it over and will do so.
async fn end(
    tx: &mut dyn Repositories,
    note: &DeliveryOutcome,
    now: Timestamp,
) -> Result<bool, Fault> {
    let DeliveryOutcome {
        delivery, outcome, ..
    } = note;
    let deliveries = tx.deliveries();
    let is_held = match outcome {
        AttemptOutcome::Delivered if note.attempt.is_none() => {
            deliveries
                .finish(delivery, DeliveryState::Dropped, now)
                .await?
        }
        AttemptOutcome::Delivered => {
            deliveries
                .finish(delivery, DeliveryState::Delivered, now)
                .await?
        }
        // The endpoint is disabled as well. The delivery is retried when it is enabled.
        AttemptOutcome::Gone => deliveries.retry(delivery, note.now).await?,
        AttemptOutcome::Failed(failing) => match wait_after(delivery.attempts, note.drawn) {
            Some(wait) => {
                let wait = wait.max(failing.retry_after.unwrap_or_default());
                deliveries.retry(delivery, note.now + wait).await?
            }
            None => {
                deliveries
                    .finish(delivery, DeliveryState::Exhausted, now)
                    .await?
            }
        },
    };
    Ok(is_held)
}

impl Batch for DeliveryOutcomes {
    type Asked = DeliveryOutcome;
    type Answer = Result<(), Fault>;
    type Memory = ();

    const MAX_SIZE: usize = 64;

    fn app(note: &DeliveryOutcome) -> AppId {
        note.delivery.world.app_id
    }

    async fn serve(&self, notes: Vec<DeliveryOutcome>, (): &mut ()) -> Vec<Self::Answer> {
        if retried(|| self.write(&notes)).await.is_ok() {
            return notes.iter().map(|_noted| Ok(())).collect();
        }
        // Write them one by one, so that one failure does not block the others.
        let mut outcomes = Vec::with_capacity(notes.len());
        for note in &notes {
            let alone = std::slice::from_ref(note);
            outcomes.push(retried(|| self.write(alone)).await);
        }
        outcomes
    }
}
