//! The service: its ports, its settings, and the entry point into its runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::task::AbortHandle;
use vestry_domain::ids::Id;
use vestry_domain::message::{Channel, Priority};
use vestry_domain::metric::Job;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::anchors::LOG_SINK;
use vestry_ports::meter::{Gauge, Meter};
use vestry_ports::store::{CommitEffect, Store};

use crate::Fault;
use crate::kernel::batcher::{Batch, Batcher};
use crate::kernel::callers::{Callers, SeenKeys};
use crate::kernel::gate::{Gate, GatedStore};
use crate::kernel::measures::unix;
use crate::kernel::mint;
use crate::kernel::ports::Ports;
use crate::kernel::state::anchor_watch::AnchorWatch;
use crate::kernel::state::audit_trail::ChainWriter;
use crate::kernel::state::change_journal::ChangeJournal;
use crate::kernel::state::checkpoint_state::CheckpointState;
use crate::kernel::state::control_trail::ControlTrail;
use crate::kernel::state::delivery_outcomes::DeliveryOutcomes;
use crate::kernel::state::delivery_scheduler::DeliveryScheduler;
use crate::kernel::state::event_heads::{EventHeads, Unsequenced};
use crate::kernel::state::failure_log::FailureLog;
use crate::kernel::state::journal_lines::JournalLines;
use crate::kernel::state::key_uses::KeyUses;
use crate::kernel::state::last_seen::Touches;
use crate::kernel::state::memory::{JwtTimes, SigningKeys, TestClocks};
use crate::kernel::state::outbox_bell::OutboxBell;
use crate::kernel::state::outbox_counts::OutboxCounts;
use crate::kernel::state::outbox_outcomes::OutboxOutcomes;
use crate::kernel::state::reads::{
    BatchedReads, Kind, PresentedSessions, WalletsToUse, WholeUsers,
};
use crate::kernel::state::refusal_log::RefusalLog;
use crate::kernel::state::tally::Tally;
use crate::kernel::state::transport_breakers::TransportBreakers;
use crate::kernel::state::waiting_room::WaitingRoom;

/// Time limit for a batched query. A query that hangs must not block every caller.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where the console is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleAddress {
    /// The origin, such as `https://console.example.com`.
    pub origin: String,
    /// The host, to which passkeys of operators are bound.
    pub host: String,
    /// Whether operators need a second factor. Only `vestry dev` does without.
    pub needs_second_factor: bool,
}

/// Deployment-wide settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Host and port of the public URL, such as `id.example.com`.
    pub issuer_host: String,
    /// The public URL, such as `https://id.example.com`: the base of Vestry's own links and callbacks and of `iss`.
    pub public_url: String,
    /// Requests per minute in a test environment; 0 means no limit.
    pub test_per_minute: u32,
    /// Requests per minute in a live environment; 0 means no limit.
    pub live_per_minute: u32,
    /// Codes per hour to one address or number, across all Apps of this deployment; 0 means no limit (attack 8).
    pub sends_per_identifier: u32,
    /// Time limit for a user search in the database.
    pub search_within: Duration,
    /// Maximum concurrent filtered user searches of this process.
    pub searches_at_once: usize,
    /// Maximum concurrent webhook requests of this process.
    pub webhooks_in_flight: usize,
    /// Number of waiting messages of an environment, channel and priority beyond which sends fail.
    pub max_waiting: i64,
    /// Interval between audit checkpoints if something changed; at least a second.
    pub checkpoint_every: Duration,
    /// Maximum age of the last checkpoint in a sink other than the server log while wallet keys are used; `None` means no limit.
    pub require_anchor: Option<Seconds>,
    /// Where the console is; `None` if this deployment has none.
    pub console: Option<ConsoleAddress>,
}

impl Settings {
    /// Default time limit for a user search. It exceeds the duration of any search by a whole value, and is short enough for an interactive
    /// caller.
    pub const SEARCH_WITHIN: Duration = Duration::from_secs(2);

    /// Returns the number of concurrent searches for a number of read connections.
    ///
    /// A search can occupy a connection and a processor for its whole time limit, so most of both are reserved for other requests.
    pub const fn searches_with(connections: usize) -> usize {
        match connections / 4 {
            0 => 1,
            quarter => quarter,
        }
    }

    /// Default number of waiting messages beyond which sends fail.
    pub const MAX_WAITING: i64 = 50_000;

    /// Default number of concurrent webhook requests.
    pub const WEBHOOKS_IN_FLIGHT: usize = 256;

    /// Default interval between checkpoints.
    pub const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);

    /// Returns the minutes without a remote checkpoint after which wallet keys are blocked.
    pub(crate) fn anchor_minutes(&self) -> Option<i64> {
        self.require_anchor.map(|most| most.0 / 60)
    }

    pub(crate) const fn per_minute(&self, environment: Environment) -> u32 {
        match environment {
            Environment::Test => self.test_per_minute,
            Environment::Live => self.live_per_minute,
        }
    }
}

/// All use cases. There is one per process, shared as `Arc<Service>`.
pub struct Service {
    pub(crate) ports: Ports,
    pub(crate) settings: Settings,
    runtime: Handle,
    pub(crate) callers: Callers,
    pub(crate) seen_management_keys: SeenKeys,
    pub(crate) signing_keys: SigningKeys,
    /// Rung when this process commits messages to the outbox.
    pub(crate) outbox_bell: Arc<OutboxBell>,
    pub(crate) outbox_counts: OutboxCounts,
    pub(crate) breakers: TransportBreakers,
    /// Notified when a message is captured.
    pub(crate) captured_bell: Notify,
    /// The calls waiting for a captured message.
    pub(crate) captured_room: WaitingRoom,
    pub(crate) test_clocks: TestClocks,
    pub(crate) trail: Arc<Batcher<ChainWriter>>,
    pub(crate) control: Arc<ControlTrail>,
    pub(crate) refusals: RefusalLog,
    pub(crate) key_uses: KeyUses,
    pub(crate) failures: FailureLog,
    /// Counts committed facts for the charts. It is written every ten seconds.
    pub(crate) tally: Arc<Tally>,
    pub(crate) outbox_outcomes: Arc<Batcher<OutboxOutcomes>>,
    pub(crate) last_seen: Arc<Batcher<Touches>>,
    pub(crate) wallets_to_use: Arc<Batcher<BatchedReads<WalletsToUse>>>,
    pub(crate) presented_sessions: Arc<Batcher<BatchedReads<PresentedSessions>>>,
    pub(crate) whole_users: Arc<Batcher<BatchedReads<WholeUsers>>>,
    pub(crate) jwt_times: JwtTimes,
    /// Limits concurrent searches.
    pub(crate) searches: Semaphore,
    pub(crate) events: EventHeads,
    pub(crate) webhooks: DeliveryScheduler,
    pub(crate) delivery_outcomes: Arc<Batcher<DeliveryOutcomes>>,
    pub(crate) checkpoints: CheckpointState,
    /// The journal, with the lines that wait for it.
    pub(crate) journal: Option<Arc<Batcher<JournalLines>>>,
    /// The changes on their way to the journal.
    pub(crate) changes: Option<Arc<ChangeJournal>>,
    pub(crate) gate: Arc<Gate>,
    /// The database past the gate.
    pub(crate) ungated: Arc<dyn Store>,
    pub(crate) anchors: AnchorWatch,
    /// When this process started.
    pub(crate) started_at: Timestamp,
    is_draining: AtomicBool,
}

impl Service {
    /// Creates the service. `runtime` is the multi-thread runtime on which every command runs.
    pub fn new(mut ports: Ports, settings: Settings, runtime: Handle) -> Self {
        let (gate, ungated) = (Arc::<Gate>::default(), Arc::clone(&ports.store));
        if ports.epoch_store.is_some() {
            ports.store = Arc::new(GatedStore {
                store: Arc::clone(&ungated),
                gate: Arc::clone(&gate),
            });
        }
        let partitions = ports.store.partitions();
        let control = Arc::new(ControlTrail::new(&ports));
        let unsequenced = Arc::<Unsequenced>::default();
        let outbox_bell = Arc::<OutboxBell>::default();
        let tally = Arc::new(Tally::new(Arc::clone(&ports.clock)));
        let changes = ports.epoch_store.as_ref().map(|store| {
            let journal = Arc::clone(&store.journal);
            let (sealer, clock) = (Arc::clone(&ports.sealer), Arc::clone(&ports.clock));
            Arc::new(ChangeJournal::new(journal, sealer, clock, runtime.clone()))
        });
        ports.store.on_commit({
            let changes = changes.clone();
            let (unsequenced, outbox_bell) = (Arc::clone(&unsequenced), Arc::clone(&outbox_bell));
            let tally = Arc::clone(&tally);
            Box::new(move |committed| match committed {
                CommitEffect::Events(world) => unsequenced.add([world]),
                CommitEffect::Messages(queue) => outbox_bell.ring([queue]),
                CommitEffect::Counted(world, measure, count) => tally.add(world, measure, count),
                CommitEffect::Changed(change) => {
                    if let Some(changes) = &changes {
                        changes.push(*change);
                    }
                }
            })
        });
        Self {
            trail: Arc::new(Batcher::new(ChainWriter::new(&ports, &control), partitions)),
            outbox_outcomes: Arc::new(Batcher::new(OutboxOutcomes::new(&ports), partitions)),
            last_seen: Arc::new(Batcher::new(Touches::new(&ports), partitions)),
            wallets_to_use: BatchedReads::batcher(&ports.store),
            presented_sessions: BatchedReads::batcher(&ports.store),
            whole_users: BatchedReads::batcher(&ports.store),
            jwt_times: JwtTimes::default(),
            searches: Semaphore::new(settings.searches_at_once),
            events: EventHeads::new(unsequenced),
            webhooks: DeliveryScheduler::new(settings.webhooks_in_flight),
            delivery_outcomes: Arc::new(Batcher::new(
                DeliveryOutcomes::new(&ports, &control),
                partitions,
            )),
            control,
            checkpoints: CheckpointState::default(),
            journal: ports.epoch_store.as_ref().map(|store| {
                let lines = JournalLines {
                    journal: Arc::clone(&store.journal),
                    clock: Arc::clone(&ports.clock),
                };
                Arc::new(Batcher::new(lines, partitions))
            }),
            changes,
            gate,
            ungated,
            anchors: AnchorWatch::from(ports.clock.machine()),
            started_at: ports.clock.machine(),
            is_draining: AtomicBool::new(false),
            refusals: RefusalLog::default(),
            key_uses: KeyUses::default(),
            failures: FailureLog::default(),
            tally,
            ports,
            settings,
            runtime,
            callers: Callers::default(),
            seen_management_keys: SeenKeys::default(),
            signing_keys: SigningKeys::default(),
            outbox_bell,
            outbox_counts: OutboxCounts::default(),
            breakers: TransportBreakers::default(),
            captured_bell: Notify::new(),
            captured_room: WaitingRoom::without_limit_per_key(),
            test_clocks: TestClocks::default(),
        }
    }

    /// Runs a command on the service's own runtime, to completion even if the caller stops waiting.
    ///
    /// This is the only way from a web worker into the service. Web workers have a single-thread runtime, which SQLite calls must not
    /// block. They also drop a handler when its client disconnects, which must not interrupt a command halfway. Work that stays on the
    /// worker neither blocks nor has effects that could be interrupted ([`Service::admit_at_once`], [`Service::verify_session_at_once`]).
    ///
    /// # Errors
    /// [`Fault::Internal`] if the command panicked; the panic is contained in its task.
    pub async fn run<T, C, F>(self: &Arc<Self>, command: C) -> Result<T, Fault>
    where
        C: FnOnce(Arc<Self>) -> F,
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let command = command(Arc::clone(self));
        let service = Arc::clone(self);
        self.spawn(async move {
            let result = command.await;
            service.settle_changes().await;
            // The caller may have disconnected.
            let _unheard = answer.send(result);
        });
        // Do not pass on the panic message, which may contain secrets of the command. The panic hook logs its location.
        answered
            .await
            .map_err(|_gone| Fault::Internal("a command panicked, or its runtime stopped".into()))
    }

    /// Waits until the database may be used. That is at once, unless [`Service::await_epoch`] closed it.
    pub async fn until_open(&self) {
        self.gate.until_open().await;
    }

    /// Waits until the changes committed so far are in the journal, at most two seconds. Returns whether they are.
    pub async fn settle_changes(&self) -> bool {
        match &self.changes {
            Some(changes) => changes.settle().await,
            None => true,
        }
    }

    /// Runs background work of the service until it ends or is aborted.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        // Box the future: otherwise the runtime's task code is compiled twice for each command.
        let work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(work);
        self.runtime.spawn(work).abort_handle()
    }

    /// Submits a request to a batcher and waits for the response; `None` if the batch panicked or the service stops.
    pub(crate) async fn batched<B: Batch>(
        &self,
        batcher: &Arc<Batcher<B>>,
        asked: B::Asked,
    ) -> Option<B::Answer> {
        let (answer, turn) = batcher.join(asked);
        // Flush in a separate task. The first caller must return once its own part is done, and its request can panic or end while others
        // wait.
        if let Some(turn) = turn {
            self.spawn(turn.serve());
        }
        answer.await.ok()
    }

    /// Looks an object up by name with a query that starts after this call, so that everything committed before is visible.
    pub(crate) async fn find<K: Kind>(
        &self,
        batcher: &Arc<Batcher<BatchedReads<K>>>,
        name: K::Name,
    ) -> Result<K::Found, Fault>
    where
        K::Name: Clone,
    {
        if let Some(found) = self.find_with_others(batcher, name.clone()).await {
            return Ok(found);
        }
        let mut read = self.ports.store.read().await?;
        let found = K::find(&mut *read, &[name]).await?;
        let found = found.into_iter().next();
        found.ok_or_else(|| Fault::Internal("a store returned no result for a single name".into()))
    }

    /// Does the same in a batch with concurrent callers, without falling back to a query of its own; `None` if the batch failed or timed
    /// out.
    pub(crate) async fn find_with_others<K: Kind>(
        &self,
        batcher: &Arc<Batcher<BatchedReads<K>>>,
        name: K::Name,
    ) -> Option<K::Found> {
        let asked = self.batched(batcher, name);
        tokio::time::timeout(PATIENCE, asked).await.ok()??
    }

    /// Checks that the database responds and is migrated.
    ///
    /// # Errors
    /// [`Fault::Unavailable`] or [`Fault::Internal`].
    pub async fn ready(&self) -> Result<(), Fault> {
        Ok(self.ports.store.ready().await?)
    }

    /// Returns the public URL, without a slash at its end.
    pub fn public_url(&self) -> &str {
        self.settings.public_url.trim_end_matches('/')
    }

    /// Returns whether audit checkpoints are stored outside the database and the log of the service.
    pub fn has_remote_sink(&self) -> bool {
        self.ports.sinks.iter().any(|sink| sink.name() != LOG_SINK)
    }

    /// Checks that not too many messages of this kind wait (PR-142).
    pub(crate) fn admit_message(
        &self,
        world: World,
        channel: Channel,
        priority: Priority,
    ) -> Result<(), Fault> {
        match self.outbox_counts.is_crowded(world, channel, priority) {
            true => Err(Fault::TooManyWaiting),
            false => Ok(()),
        }
    }

    /// Returns whether live mail can be sent.
    pub const fn has_mailer(&self) -> bool {
        self.ports.mailer.is_some()
    }

    /// Returns whether live text messages can be sent.
    pub const fn has_sms(&self) -> bool {
        self.ports.sms.is_some()
    }

    /// Returns whether new passwords can be checked against a list of breached ones.
    pub const fn has_breached_passwords(&self) -> bool {
        self.ports.breached.is_some()
    }

    /// Returns the meter of this process.
    pub fn meter(&self) -> &dyn Meter {
        &*self.ports.meter
    }

    /// Records when the certificate of the listeners expires.
    pub fn certificate_expires(&self, at: Timestamp) {
        self.ports.meter.set(Gauge::CertificateExpiry, unix(at));
    }

    /// Records that the process is about to end.
    pub fn draining(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        self.ports.meter.set(Gauge::Ready, 0.0);
    }

    /// Returns whether the process is about to end.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Records that a background job has done its work.
    pub(crate) fn job_succeeded(&self, job: Job) {
        let gauge = Gauge::JobSucceeded(job);
        self.ports.meter.set(gauge, unix(self.machine_time()));
    }

    /// Returns the machine's time, which rate limits follow.
    pub fn machine_time(&self) -> Timestamp {
        self.ports.clock.machine()
    }

    /// Returns the time of an environment: the machine's, or that of the App's test clock.
    pub(crate) fn now(&self, world: &World) -> Timestamp {
        match self.test_clocks.of(world) {
            Some(clock) => clock.now(self.ports.clock.machine()),
            None => self.ports.clock.now(world),
        }
    }

    /// Returns the time that an environment's request limit follows.
    pub(crate) fn now_for_limits(&self, world: &World) -> Timestamp {
        let machine = self.ports.clock.machine();
        let clock = self.test_clocks.of(world);
        clock.map_or(machine, |clock| clock.for_limits(machine))
    }

    pub(crate) fn new_id<I: Id>(&self, at: Timestamp) -> I {
        mint::id(&*self.ports.entropy, at)
    }

    /// Returns new ids in increasing order, each greater than an earlier id of the same owner.
    pub(crate) fn ids_behind<I: Id>(
        &self,
        at: Timestamp,
        mut earlier: Option<I>,
    ) -> impl FnMut() -> I {
        move || {
            let id = mint::id_behind(&*self.ports.entropy, at, earlier);
            earlier = Some(id);
            id
        }
    }
}
