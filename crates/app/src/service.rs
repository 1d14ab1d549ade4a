//! The service: its ports, its settings, and the crossing into its runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::task::AbortHandle;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::ids::Id;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::vault::VaultError;

use crate::anchor_watch::AnchorWatch;
use crate::audit_trail::Trail;
use crate::checkpoint_desk::CheckpointDesk;
use crate::control_trail::ControlTrail;
use crate::delivery_notes::Notes;
use crate::event_desk::Desk;
use crate::failure_log::FailureLog;
use crate::memory::{Callers, JwtTimes, SigningKeys, TestClocks};
use crate::ports::Ports;
use crate::reads::{Kind, PresentedSessions, Reads, WalletsToUse, WholeUsers};
use crate::refusal_log::RefusalLog;
use crate::together::{Batch, Together};
use crate::touches::Touches;
use crate::waiting_room::WaitingRoom;
use crate::webhook_desk::WebhookDesk;
use crate::webhook_notes::WebhookNotes;
use crate::{Fault, mint};

/// How long one waits for a statement that is asked for many. One that hangs must not hold up everybody.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the operator decides for all Apps.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Host and port of the public URL, such as `id.example.com`.
    pub issuer_host: String,
    /// The public URL, such as `https://id.example.com`: what links, callbacks and `iss` of ours begin with.
    pub public_url: String,
    /// Requests a minute of a test world; 0 means no limit.
    pub test_per_minute: u32,
    /// Requests a minute of a live world; 0 means no limit.
    pub live_per_minute: u32,
    /// Codes to one address or number in an hour, by all Apps of this deployment together; 0 means no limit (attack 8).
    pub sends_per_identifier: u32,
    /// How long a search of users may take in the database before it is given up.
    pub search_within: Duration,
    /// Searches of users by a filter at the same time, of this process.
    pub searches_at_once: usize,
    /// Requests to webhook endpoints at the same time, of this process.
    pub webhooks_in_flight: usize,
    /// How often a checkpoint of the audit log is made where something changed; at least a second.
    pub checkpoint_every: Duration,
    /// How old the last checkpoint that a sink beside the log has may be while keys are used; `None`: as old as it is.
    pub require_anchor: Option<Seconds>,
}

impl Settings {
    /// How long a search may take, unless a test says otherwise: longer than any search by a whole value takes, and shorter than
    /// anybody waits.
    pub const SEARCH_WITHIN: Duration = Duration::from_secs(2);

    /// Searches at the same time with so many connections to the database for reading: a search may keep a connection and a processor busy
    /// until its time is over, and most of both stay free for everything else.
    pub const fn searches_with(connections: usize) -> usize {
        match connections / 4 {
            0 => 1,
            quarter => quarter,
        }
    }

    /// Requests to webhook endpoints at the same time, unless the operator says otherwise.
    pub const WEBHOOKS_IN_FLIGHT: usize = 256;

    /// How often a checkpoint is made, unless the operator says otherwise.
    pub const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);

    pub(crate) const fn per_minute(&self, environment: Environment) -> u32 {
        match environment {
            Environment::Test => self.test_per_minute,
            Environment::Live => self.live_per_minute,
        }
    }
}

/// All use cases. One per process, shared as `Arc<Service>`.
pub struct Service {
    pub(crate) ports: Ports,
    pub(crate) settings: Settings,
    runtime: Handle,
    pub(crate) callers: Callers,
    pub(crate) signing_keys: SigningKeys,
    /// Rings when a job was committed to the outbox.
    pub(crate) outbox_bell: Notify,
    /// Rings when a message was captured.
    pub(crate) captured_bell: Notify,
    /// The calls that wait for a captured message.
    pub(crate) captured_room: WaitingRoom,
    pub(crate) test_clocks: TestClocks,
    pub(crate) trail: Arc<Together<Trail>>,
    pub(crate) control: Arc<ControlTrail>,
    pub(crate) refusals: RefusalLog,
    pub(crate) failures: FailureLog,
    pub(crate) notes: Arc<Together<Notes>>,
    pub(crate) touches: Arc<Together<Touches>>,
    pub(crate) wallets_to_use: Arc<Together<Reads<WalletsToUse>>>,
    pub(crate) presented_sessions: Arc<Together<Reads<PresentedSessions>>>,
    pub(crate) whole_users: Arc<Together<Reads<WholeUsers>>>,
    pub(crate) jwt_times: JwtTimes,
    /// The room for searches.
    pub(crate) searches: Semaphore,
    pub(crate) events: Desk,
    pub(crate) webhooks: WebhookDesk,
    pub(crate) webhook_notes: Arc<Together<WebhookNotes>>,
    pub(crate) checkpoints: CheckpointDesk,
    pub(crate) anchors: AnchorWatch,
}

impl Service {
    /// Puts the service together. `runtime` is the multi-thread runtime on which every command runs.
    pub fn new(ports: Ports, settings: Settings, runtime: Handle) -> Self {
        let apart = ports.store.is_spread();
        let control = Arc::new(ControlTrail::new(&ports));
        Self {
            trail: Arc::new(Together::new(Trail::new(&ports, &control), apart)),
            notes: Arc::new(Together::new(Notes::new(&ports), apart)),
            touches: Arc::new(Together::new(Touches::new(&ports), apart)),
            wallets_to_use: Reads::desk(&ports.store),
            presented_sessions: Reads::desk(&ports.store),
            whole_users: Reads::desk(&ports.store),
            jwt_times: JwtTimes::default(),
            searches: Semaphore::new(settings.searches_at_once),
            events: Desk::of(&*ports.store),
            webhooks: WebhookDesk::new(settings.webhooks_in_flight),
            webhook_notes: Arc::new(Together::new(WebhookNotes::new(&ports, &control), apart)),
            control,
            checkpoints: CheckpointDesk::default(),
            anchors: AnchorWatch::from(ports.clock.machine()),
            refusals: RefusalLog::default(),
            failures: FailureLog::default(),
            ports,
            settings,
            runtime,
            callers: Callers::default(),
            signing_keys: SigningKeys::default(),
            outbox_bell: Notify::new(),
            captured_bell: Notify::new(),
            captured_room: WaitingRoom::without_limit_per_key(),
            test_clocks: TestClocks::default(),
        }
    }

    /// Runs a command on the service's own runtime, to its end, even when the caller stops waiting.
    ///
    /// The only crossing from a web worker: those have a single-thread runtime, on which the SQLite wrapper must not
    /// block, and they drop a handler when its client goes away, which must not cut a command in half. What stays on the worker
    /// waits for neither, and has nothing that could be cut ([`Service::admit_at_once`], [`Service::verify_session_at_once`]).
    ///
    /// # Errors
    /// [`Fault::Internal`] when the command panicked; the panic stays inside its task.
    pub async fn run<T, C, F>(self: &Arc<Self>, command: C) -> Result<T, Fault>
    where
        C: FnOnce(Arc<Self>) -> F,
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let command = command(Arc::clone(self));
        self.spawn(async move {
            // The caller may be gone.
            let _unheard = answer.send(command.await);
        });
        // What a panic says may hold what the command held, and is not passed on; where it was is the panic hook's to tell.
        answered
            .await
            .map_err(|_gone| Fault::Internal("a command panicked, or its runtime stopped".into()))
    }

    /// Runs something of the service's own beside its commands, until it ends or is aborted.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        // Behind a pointer, whatever it is: else everything that the runtime has for a task is compiled twice for each command.
        let work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(work);
        self.runtime.spawn(work).abort_handle()
    }

    /// Asks, and waits for the answer; `None` when the batch panicked, or the service ends.
    pub(crate) async fn together<B: Batch>(
        &self,
        desk: &Arc<Together<B>>,
        asked: B::Asked,
    ) -> Option<B::Answer> {
        let (answer, turn) = desk.join(asked);
        // A task of its own, and not whoever came first, who has an answer to give once its own part is done, and whose
        // request may panic or end while others wait.
        if let Some(turn) = turn {
            self.spawn(turn.serve());
        }
        answer.await.ok()
    }

    /// What has this name, by a statement that begins after this was called: what was committed before is seen.
    pub(crate) async fn find<K: Kind>(
        &self,
        desk: &Arc<Together<Reads<K>>>,
        name: K::Name,
    ) -> Result<K::Found, Fault>
    where
        K::Name: Clone,
    {
        if let Some(found) = self.find_with_others(desk, name.clone()).await {
            return Ok(found);
        }
        let mut read = self.ports.store.read().await?;
        let found = K::find(&mut *read, &[name]).await?;
        let found = found.into_iter().next();
        found.ok_or_else(|| Fault::Internal("a store answered for none of one name".into()))
    }

    /// The same, with those who ask at this moment and not alone; `None` when that failed or hangs.
    pub(crate) async fn find_with_others<K: Kind>(
        &self,
        desk: &Arc<Together<Reads<K>>>,
        name: K::Name,
    ) -> Option<K::Found> {
        let asked = self.together(desk, name);
        tokio::time::timeout(PATIENCE, asked).await.ok()??
    }

    /// Whether the database answers and is migrated.
    ///
    /// # Errors
    /// [`Fault::Unavailable`] or [`Fault::Internal`].
    pub async fn ready(&self) -> Result<(), Fault> {
        Ok(self.ports.store.ready().await?)
    }

    /// Whether the root key of this purpose can be used. Never part of readiness: App keys that were opened before go on working,
    /// and so does everything of the other purpose.
    ///
    /// # Errors
    /// Why it cannot.
    pub async fn has_root_key(&self, purpose: KeyPurpose) -> Result<(), VaultError> {
        self.ports.vaults.of(purpose).status().await.map(drop)
    }

    /// Whether live mail can be sent.
    pub const fn has_mailer(&self) -> bool {
        self.ports.mailer.is_some()
    }

    /// Whether live text messages can be sent.
    pub const fn has_sms(&self) -> bool {
        self.ports.sms.is_some()
    }

    /// The time of the machine, which rate limits follow.
    pub fn machine_time(&self) -> Timestamp {
        self.ports.clock.machine()
    }

    /// The time of a world: the machine's, or that of the App's test clock.
    pub(crate) fn now(&self, world: &World) -> Timestamp {
        match self.test_clocks.of(world) {
            Some(clock) => clock.now(self.ports.clock.machine()),
            None => self.ports.clock.now(world),
        }
    }

    /// The time that the limit of requests of a world follows.
    pub(crate) fn now_for_limits(&self, world: &World) -> Timestamp {
        let machine = self.ports.clock.machine();
        let clock = self.test_clocks.of(world);
        clock.map_or(machine, |clock| clock.for_limits(machine))
    }

    pub(crate) fn new_id<I: Id>(&self, at: Timestamp) -> I {
        mint::id(&*self.ports.entropy, at)
    }

    /// New ids in the order in which they are asked for, behind an earlier one of the same owner.
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
