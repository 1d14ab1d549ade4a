//! A service over fakes of external systems, with a real vault, real custody and real JWTs, one App and its keys.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tokio::runtime::Handle;
use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::identity::codes::{
    LoginOrCreate, LoginOrCreateByText, SendCode, SentCode, SentText, VerifiedCode, VerifyCode,
    VerifyCodeError,
};
use vestry_app::identity::passwords::VerifiedPassword;
use vestry_app::identity::sessions::{
    IssuedSession, ListSessions, SessionFields, SessionNamed, VerifiedSession, VerifySession,
};
use vestry_app::identity::users::{CreateUser, FullUser, NewIdentifier};
use vestry_app::{Caller, ConsoleAddress, Ports, Principal, Refusal, Service, Settings};
use vestry_checkpoint_sinks::{FileJournal, FileSink};
use vestry_contract::fakes::{
    FakeBreached, FakeClock, FakeLimiter, FakeMailer, FakeProviders, FakeSms, FakeStore,
    FakeWebhooks, SeededEntropy,
};
use vestry_custody::Custody;
use vestry_domain::api_key::{ApiKeyKind, KeyFields, Scope};
use vestry_domain::app::App;
use vestry_domain::code::MethodId;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::ids::{EmailId, Id, PhoneNumberId, UserId};
use vestry_domain::message::CapturedMessage;
use vestry_domain::metric::{StatusClass, WorkClass};
use vestry_domain::session::{DeviceFingerprint, Session};
use vestry_domain::timestamp::Seconds;
use vestry_domain::wallet::{AddressForm, WalletType};
use vestry_domain::{Environment, Secret, Timestamp, World};
use vestry_passkeys::Webauthn;
use vestry_password_argon2::{Argon2Hasher, Settings as Hashing};
use vestry_ports::anchors::CheckpointSink;
use vestry_ports::custody::{Custodian, WalletOrder};
use vestry_ports::entropy::Entropy;
use vestry_ports::journal::EpochStore;
use vestry_ports::mailer::Mailer;
use vestry_ports::meter::{Counted, Gauge, Meter, Timed};
use vestry_ports::sms::SmsSender;
use vestry_ports::store::Store;
use vestry_ports::vault::{KeyVault, Vaults};
use vestry_token_jwt::JwtSigner;
use vestry_vault_local::LocalVault;

use crate::interposed::Interposed;

/// The time at which every test begins.
pub(crate) const START: Timestamp = Timestamp::from_unix(1_800_000_000);
pub(crate) const ISSUER_HOST: &str = "id.example.com";
/// The password of users of [`Harness::with_password`].
const PASSWORD: &str = "correct horse battery";

pub(crate) struct Harness {
    pub(crate) service: Arc<Service>,
    pub(crate) ports: Ports,
    /// The store as the service sees it.
    pub(crate) store: Arc<Interposed>,
    /// The wrapped store, which custody reads directly.
    pub(crate) fake: FakeStore,
    pub(crate) vaults: Vaults,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) limiter: Arc<FakeLimiter>,
    pub(crate) mailer: Arc<FakeMailer>,
    pub(crate) sms: Arc<FakeSms>,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) webhooks: Arc<FakeWebhooks>,
    pub(crate) breached: Arc<FakeBreached>,
    pub(crate) providers: Arc<FakeProviders>,
    pub(crate) app: App,
    test_key: Secret<String>,
    live_key: Secret<String>,
    root: TempDir,
}

/// Keeps the values of gauges.
#[derive(Default)]
pub(crate) struct Gauges(Mutex<Vec<(Gauge, f64)>>);

impl Gauges {
    /// The last value.
    #[track_caller]
    pub(crate) fn value(&self, gauge: Gauge) -> f64 {
        let values = self.0.lock().unwrap();
        let mut newest = values.iter().rev();
        newest.find(|(of, _)| *of == gauge).unwrap().1
    }
}

impl Meter for Gauges {
    fn count(&self, _what: Counted) {}

    fn time(&self, _what: Timed, _took: Duration) {}

    fn set(&self, what: Gauge, value: f64) {
        self.0.lock().unwrap().push((what, value));
    }

    fn request(&self, _route: &str, _class: WorkClass, _status: StatusClass, _took: Duration) {}
}

impl Harness {
    /// A harness with live mail.
    pub(crate) async fn new() -> Self {
        let mailer = Arc::new(FakeMailer::default());
        Self::build(Arc::clone(&mailer), Some(mailer), None).await
    }

    /// A harness whose `epoch.store` is this directory.
    pub(crate) async fn with_epoch_store(directory: &Path) -> Self {
        let mailer = Arc::new(FakeMailer::default());
        Self::build(Arc::clone(&mailer), Some(mailer), Some(directory)).await
    }

    /// A harness without live mail.
    pub(crate) async fn without_mail() -> Self {
        Self::build(Arc::default(), None, None).await
    }

    /// A harness with the test's own mail transport.
    pub(crate) async fn with_mail(mailer: Arc<dyn Mailer>) -> Self {
        Self::build(Arc::default(), Some(mailer), None).await
    }

    async fn build(
        fake_mailer: Arc<FakeMailer>,
        mailer: Option<Arc<dyn Mailer>>,
        store_of_epoch: Option<&Path>,
    ) -> Self {
        let root = TempDir::new().unwrap();
        let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::fresh());
        let fake = FakeStore::default();
        let store = Arc::new(Interposed::over(fake.clone()));
        let clock = Arc::new(FakeClock::at(START));
        let limiter = Arc::new(FakeLimiter::default());
        let sms = Arc::new(FakeSms::default());
        let webhooks = Arc::new(FakeWebhooks::default());
        for purpose in KeyPurpose::ALL {
            LocalVault::create(&root_key(&root, purpose), &*entropy).unwrap();
        }
        let vaults = vaults(&root, &entropy);
        let custody = custody(&vaults, &fake, &entropy);
        let breached = Arc::new(FakeBreached::default());
        let providers = Arc::new(FakeProviders::default());
        let hasher = Argon2Hasher::new(Hashing::weakest(), Arc::clone(&entropy)).unwrap();
        let gauges = Arc::<Gauges>::default();
        let ports = Ports {
            store: store.clone(),
            vaults: vaults.clone(),
            custodian: custody.clone(),
            sealer: custody.clone(),
            checkpoint_signer: custody.clone(),
            signatures: custody.clone(),
            tokens: Arc::new(JwtSigner::new(custody)),
            passkeys: Arc::new(Webauthn),
            providers: Some(providers.clone()),
            limiter: limiter.clone(),
            mailer,
            sms: Some(sms.clone()),
            webhooks: Some(webhooks.clone()),
            sinks: store_of_epoch.map(sink_in).into_iter().collect(),
            epoch_store: store_of_epoch.map(epoch_store_in),
            passwords: Arc::new(hasher),
            breached: Some(breached.clone()),
            meter: gauges.clone(),
            clock: clock.clone(),
            entropy,
        };
        let service = service(&ports);
        let app = service.create_app(Principal::cli(), "Demo").await.unwrap();
        let key = async |environment| {
            let world = World::new(app.id, environment);
            let made = service
                .create_api_key(
                    Principal::cli(),
                    world,
                    ApiKeyKind::Secret,
                    KeyFields::default(),
                )
                .await;
            made.unwrap().key
        };
        let (test_key, live_key) = (key(Environment::Test).await, key(Environment::Live).await);
        Self {
            service,
            ports,
            store,
            fake,
            vaults,
            clock,
            limiter,
            mailer: fake_mailer,
            sms,
            gauges,
            webhooks,
            breached,
            providers,
            app,
            test_key,
            live_key,
            root,
        }
    }

    /// Another process over the same database and root key files. It shares no memory with the first one.
    pub(crate) fn other_process(&self) -> Arc<Service> {
        self.process_with_vaults(&vaults(&self.root, &self.ports.entropy))
    }

    /// Another process over the same database, with its own key providers.
    pub(crate) fn process_with_vaults(&self, vaults: &Vaults) -> Arc<Service> {
        let custody = custody(vaults, &self.fake, &self.ports.entropy);
        service(&Ports {
            vaults: vaults.clone(),
            custodian: custody.clone(),
            sealer: custody.clone(),
            checkpoint_signer: custody.clone(),
            signatures: custody.clone(),
            tokens: Arc::new(JwtSigner::new(custody)),
            ..self.ports.clone()
        })
    }

    /// A process without a mail transport.
    pub(crate) fn process_without_mail(&self) -> Arc<Service> {
        service(&Ports {
            mailer: None,
            ..self.ports.clone()
        })
    }

    /// A process whose operator limits the sends per identifier and hour.
    pub(crate) fn process_with_cap(&self, sends_per_identifier: u32) -> Arc<Service> {
        let settings = Settings {
            sends_per_identifier,
            ..settings()
        };
        Arc::new(Service::new(
            self.ports.clone(),
            settings,
            Handle::current(),
        ))
    }

    /// A process that refuses sends while more messages than this wait.
    pub(crate) fn process_with_max_waiting(&self, max_waiting: i64) -> Arc<Service> {
        let settings = Settings {
            max_waiting,
            ..settings()
        };
        Arc::new(Service::new(
            self.ports.clone(),
            settings,
            Handle::current(),
        ))
    }

    /// A process with the test's own SMS provider.
    pub(crate) fn process_with_sms(&self, sms: Arc<dyn SmsSender>) -> Arc<Service> {
        service(&Ports {
            sms: Some(sms),
            ..self.ports.clone()
        })
    }

    /// A process without an SMS provider.
    pub(crate) fn process_without_sms(&self) -> Arc<Service> {
        service(&Ports {
            sms: None,
            ..self.ports.clone()
        })
    }

    /// Another process over the same database, with these checkpoint sinks.
    pub(crate) fn process_with_sinks(&self, sinks: Vec<Arc<dyn CheckpointSink>>) -> Arc<Service> {
        service(&self.ports_with(sinks))
    }

    /// A process with these sinks that makes checkpoints each second.
    pub(crate) fn process_of_seconds(&self, sinks: Vec<Arc<dyn CheckpointSink>>) -> Arc<Service> {
        let settings = Settings {
            checkpoint_every: Duration::from_secs(1),
            ..settings()
        };
        let ports = self.ports_with(sinks);
        Arc::new(Service::new(ports, settings, Handle::current()))
    }

    /// The same, with keys blocked while no sink has a checkpoint younger than the given age.
    pub(crate) fn process_that_requires_an_anchor(
        &self,
        sinks: Vec<Arc<dyn CheckpointSink>>,
        most: Seconds,
    ) -> Arc<Service> {
        let settings = Settings {
            require_anchor: Some(most),
            ..settings()
        };
        let ports = self.ports_with(sinks);
        Arc::new(Service::new(ports, settings, Handle::current()))
    }

    /// Another process over the same database, whose `epoch.store` is this directory.
    pub(crate) fn process_with_epoch_store(&self, directory: &Path) -> Arc<Service> {
        service(&Ports {
            epoch_store: Some(epoch_store_in(directory)),
            ..self.ports_with(vec![sink_in(directory)])
        })
    }

    fn ports_with(&self, sinks: Vec<Arc<dyn CheckpointSink>>) -> Ports {
        let vaults = vaults(&self.root, &self.ports.entropy);
        let custody = custody(&vaults, &self.fake, &self.ports.entropy);
        Ports {
            vaults,
            custodian: custody.clone(),
            sealer: custody.clone(),
            checkpoint_signer: custody.clone(),
            signatures: custody.clone(),
            tokens: Arc::new(JwtSigner::new(custody)),
            sinks,
            ..self.ports.clone()
        }
    }

    /// A root key of another machine, whose first version was retired.
    pub(crate) async fn foreign_root_key(&self) -> Arc<dyn KeyVault> {
        let elsewhere = self.root.path().join("other.key");
        LocalVault::create(&elsewhere, &*self.ports.entropy).unwrap();
        let vault = LocalVault::open(&elsewhere, Arc::clone(&self.ports.entropy)).unwrap();
        let version = vault.add_root_version().await.unwrap();
        vault.retire_below(version).await.unwrap();
        Arc::new(vault)
    }

    pub(crate) fn root_key(&self, purpose: KeyPurpose) -> PathBuf {
        root_key(&self.root, purpose)
    }

    pub(crate) fn world(&self, environment: Environment) -> World {
        World::new(self.app.id, environment)
    }

    /// A request with the App's test key.
    pub(crate) async fn test(&self) -> Arc<Caller> {
        self.service
            .authenticate(self.test_key.expose())
            .await
            .unwrap()
    }

    pub(crate) fn test_key(&self) -> &str {
        self.test_key.expose()
    }

    /// Creates the key of checkpoints as it is a day later, because a young one signs nothing (PR-144).
    pub(crate) async fn with_checkpoint_key(self) -> Self {
        let (world, at) = (World::DEPLOYMENT, START - Seconds(86_400));
        let custodian = &self.ports.custodian;
        let key = custodian.mint_app_key(&world, KeyPurpose::Audit, 1, at);
        let key = key.await.unwrap();
        let mut tx = self.fake.begin().await.unwrap();
        assert!(tx.app_keys().add(&key).await.unwrap());
        tx.commit().await.unwrap();
        self
    }

    /// A request with the App's live key.
    pub(crate) async fn live(&self) -> Arc<Caller> {
        self.service
            .authenticate(self.live_key.expose())
            .await
            .unwrap()
    }

    /// A request with a key that has exactly these scopes.
    pub(crate) async fn scoped(&self, scopes: Vec<Scope>) -> Arc<Caller> {
        let world = self.world(Environment::Test);
        let made = self
            .service
            .create_api_key(
                Principal::cli(),
                world,
                ApiKeyKind::Secret,
                KeyFields::scoped(scopes),
            )
            .await;
        self.service
            .authenticate(made.unwrap().key.expose())
            .await
            .unwrap()
    }

    /// A request with the test key of another App.
    pub(crate) async fn stranger(&self) -> Arc<Caller> {
        let app = self
            .service
            .create_app(Principal::cli(), "Stranger")
            .await
            .unwrap();
        let world = World::new(app.id, Environment::Test);
        let made = self
            .service
            .create_api_key(
                Principal::cli(),
                world,
                ApiKeyKind::Secret,
                KeyFields::default(),
            )
            .await;
        self.service
            .authenticate(made.unwrap().key.expose())
            .await
            .unwrap()
    }

    /// Changes settings of the App. A second passes, so that every caller loaded from now on has them.
    pub(crate) async fn set(&self, changes: &[(&str, &str)]) {
        let changes: Vec<_> = changes
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        self.service
            .set_app(Principal::cli(), self.app.id, &changes)
            .await
            .unwrap();
        self.pass(1);
    }

    /// Advances the clock.
    pub(crate) fn pass(&self, seconds: i64) {
        self.clock.advance(Seconds(seconds));
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.ports.clock.machine()
    }

    /// Sends a code that is valid for ten minutes.
    pub(crate) async fn login(&self, caller: &Caller, email: &str) -> SentCode {
        self.service
            .login_or_create_by_email(caller, login(email))
            .await
            .unwrap()
    }

    /// Sends a code to a number, valid for ten minutes.
    pub(crate) async fn text(&self, caller: &Caller, number: &str) -> SentText {
        self.service
            .login_or_create_by_text(caller, text(number))
            .await
            .unwrap()
    }

    /// Sends a code to a number and reads it from the captured message.
    pub(crate) async fn fresh_text(&self, caller: &Caller, number: &str) -> (SentText, String) {
        let sent = self.text(caller, number).await;
        let code = self.newest_to(caller, number).await.message.code;
        (sent, code)
    }

    /// Sends a code and reads it from the captured mail.
    pub(crate) async fn fresh_code(&self, caller: &Caller, email: &str) -> (SentCode, String) {
        let sent = self.login(caller, email).await;
        let code = self
            .newest_to(caller, sent.email.email.address())
            .await
            .message
            .code;
        (sent, code)
    }

    /// A code requested with `send`, for an address of an existing user.
    pub(crate) async fn sent_code(&self, caller: &Caller, email: &str) -> String {
        let command = SendCode {
            email: email.to_owned(),
            expires_in: None,
            device_fingerprint: None,
            session: SessionNamed::default(),
        };
        let sent = self.service.send_code_by_email(caller, command);
        let sent = sent.await.unwrap();
        let newest = self.newest_to(caller, sent.email.email.address());
        newest.await.message.code
    }

    /// Delivers everything that is due.
    pub(crate) async fn deliver(&self) {
        while self.service.deliver_due("worker").await.unwrap() > 0 {}
    }

    /// Processes one batch; returns the number of jobs in it.
    pub(crate) async fn deliver_once(&self) -> usize {
        self.service.deliver_due("worker").await.unwrap()
    }

    /// Delivers, and returns the newest mail captured for an address.
    pub(crate) async fn newest_to(&self, caller: &Caller, email: &str) -> CapturedMessage {
        self.deliver().await;
        let query = FindMessages {
            to: Some(email.to_owned()),
            ..FindMessages::default()
        };
        let mut found = self.service.captured_messages(caller, query).await.unwrap();
        found.swap_remove(0)
    }

    pub(crate) async fn verify(
        &self,
        caller: &Caller,
        email: EmailId,
        code: &str,
    ) -> Result<VerifiedCode, VerifyCodeError> {
        self.service.verify_code(caller, proof(email, code)).await
    }

    /// Signs an address in, for the given minutes.
    pub(crate) async fn sign_in(
        &self,
        caller: &Caller,
        email: &str,
        minutes: i64,
    ) -> IssuedSession {
        let (sent, code) = self.fresh_code(caller, email).await;
        let command = VerifyCode {
            session_fields: lasting(minutes),
            ..proof(sent.email.id, &code)
        };
        let verified = self.service.verify_code(caller, command).await.unwrap();
        verified.issued.unwrap()
    }

    pub(crate) async fn by_token(
        &self,
        caller: &Caller,
        token: &Secret<String>,
    ) -> Result<VerifiedSession, Refusal> {
        let command = VerifySession {
            session_token: Some(token.clone()),
            ..VerifySession::default()
        };
        verify(&self.service, caller, command).await
    }

    pub(crate) async fn by_jwt(
        &self,
        caller: &Caller,
        jwt: &Secret<String>,
    ) -> Result<VerifiedSession, Refusal> {
        let command = VerifySession {
            session_jwt: Some(jwt.clone()),
            ..VerifySession::default()
        };
        self.service.verify_session(caller, command).await
    }

    /// A user whose password is [`PASSWORD`].
    pub(crate) async fn with_password(&self, caller: &Caller, email: &str) -> UserId {
        let issued = self.sign_in(caller, email, 60).await;
        let change = crate::passwords::change(&issued.token, PASSWORD);
        let changed = self.service.update_password(caller, change).await;
        changed.unwrap();
        issued.session.user_id
    }

    /// Signs the user in with that password.
    pub(crate) async fn verify_password(
        &self,
        caller: &Caller,
        user: UserId,
    ) -> Result<VerifiedPassword, Refusal> {
        crate::passwords::verify(self, caller, user, PASSWORD).await
    }

    /// All live sessions of the user, newest first.
    pub(crate) async fn list_sessions(
        &self,
        caller: &Caller,
        user: UserId,
    ) -> Result<Vec<Session>, Refusal> {
        self.all_pages(caller, ListSessions::of(user)).await
    }

    /// The same, including ended sessions.
    pub(crate) async fn list_sessions_with_ended(
        &self,
        caller: &Caller,
        user: UserId,
    ) -> Result<Vec<Session>, Refusal> {
        let query = ListSessions {
            with_ended: true,
            ..ListSessions::of(user)
        };
        self.all_pages(caller, query).await
    }

    async fn all_pages(
        &self,
        caller: &Caller,
        mut query: ListSessions,
    ) -> Result<Vec<Session>, Refusal> {
        let mut all = Vec::new();
        loop {
            let page = self.service.list_sessions(caller, query).await?;
            query.starting_after = page.sessions.last().map(|session| session.id);
            all.extend(page.sessions);
            if !page.has_more {
                return Ok(all);
            }
        }
    }

    /// A user with an address and a wallet.
    pub(crate) async fn user(&self, caller: &Caller, email: &str) -> FullUser {
        let command = CreateUser {
            email: Some(email.to_owned()),
            ..CreateUser::default()
        };
        self.service
            .create_user(caller, command)
            .await
            .unwrap()
            .user
    }

    /// A user without a wallet.
    pub(crate) async fn walletless(&self, caller: &Caller, email: &str) -> UserId {
        self.login(caller, email).await.email.user_id
    }

    /// Attaches an address to a user, unverified.
    pub(crate) async fn attach(&self, caller: &Caller, user: &FullUser, email: &str) -> EmailId {
        self.attach_claim(caller, user.profile.user.id, email).await
    }

    /// Sweeps once.
    pub(crate) async fn sweep(&self) {
        self.service.sweep("this process").await;
    }

    /// Whether a user has the address.
    pub(crate) async fn is_known(&self, caller: &Caller, email: &str) -> bool {
        let email = vestry_domain::email::Email::parse(email).unwrap();
        let mut read = self.fake.read().await.unwrap();
        let found = read
            .identifiers()
            .email_by_identity(&caller.world, email.identity())
            .await;
        found.unwrap().is_some()
    }

    /// Custody's input for a new wallet: fresh ids, and an owner who does not exist yet.
    pub(crate) fn order(&self, caller: &Caller) -> WalletOrder {
        WalletOrder {
            wallet_id: self.id(),
            key_id: self.id(),
            world: caller.world,
            user_id: self.id(),
            wallet_type: WalletType::Ethereum,
            address_form: AddressForm::Usual,
            created_at: self.now(),
        }
    }

    fn id<I: Id>(&self) -> I {
        let mut random = [0; 16];
        self.ports.entropy.fill(&mut random);
        I::new(self.now(), random)
    }

    /// The number of wallets in all environments.
    pub(crate) async fn wallets(&self) -> usize {
        let mut read = self.fake.read().await.unwrap();
        read.wallets().walk(None, 10_000).await.unwrap().len()
    }

    /// The number of outbox jobs that have not finished.
    pub(crate) async fn waiting(&self) -> i64 {
        self.fake
            .read()
            .await
            .unwrap()
            .outbox()
            .waiting()
            .await
            .unwrap()
    }
}

/// A process with the test's own custodian.
pub(crate) fn with_custodian(harness: &Harness, custodian: Arc<dyn Custodian>) -> Arc<Service> {
    service(&Ports {
        custodian,
        ..harness.ports.clone()
    })
}

fn root_key(root: &TempDir, purpose: KeyPurpose) -> PathBuf {
    root.path().join(format!("{purpose}.key"))
}

fn sink_in(directory: &Path) -> Arc<dyn CheckpointSink> {
    Arc::new(FileSink::new(directory))
}

fn epoch_store_in(directory: &Path) -> EpochStore {
    EpochStore {
        sink: sink_in(directory),
        journal: Arc::new(FileJournal::new(directory)),
    }
}

fn vaults(root: &TempDir, entropy: &Arc<dyn Entropy>) -> Vaults {
    let of = |purpose| LocalVault::open(&root_key(root, purpose), Arc::clone(entropy)).unwrap();
    Vaults {
        wallets: Arc::new(of(KeyPurpose::Wallets)),
        secrets: Arc::new(of(KeyPurpose::Secrets)),
    }
}

fn custody(vaults: &Vaults, store: &FakeStore, entropy: &Arc<dyn Entropy>) -> Arc<Custody> {
    let custody = Custody::new(vaults.clone(), Arc::new(store.clone()), Arc::clone(entropy));
    Arc::new(custody.unwrap())
}

fn settings() -> Settings {
    Settings {
        issuer_host: ISSUER_HOST.to_owned(),
        public_url: format!("https://{ISSUER_HOST}"),
        test_per_minute: 100,
        live_per_minute: 1000,
        sends_per_identifier: 0,
        search_within: Settings::SEARCH_WITHIN,
        searches_at_once: Settings::searches_with(4),
        webhooks_in_flight: Settings::WEBHOOKS_IN_FLIGHT,
        max_waiting: Settings::MAX_WAITING,
        checkpoint_every: Settings::CHECKPOINT_EVERY,
        require_anchor: None,
        console: Some(ConsoleAddress {
            origin: "https://console.example.com".to_owned(),
            host: "console.example.com".to_owned(),
            needs_second_factor: true,
        }),
    }
}

fn service(ports: &Ports) -> Arc<Service> {
    Arc::new(Service::new(ports.clone(), settings(), Handle::current()))
}

/// A code request for an address, valid for ten minutes.
pub(crate) fn login(email: &str) -> LoginOrCreate {
    LoginOrCreate {
        email: email.to_owned(),
        expires_in: Some(10),
        requires_verification: None,
        device_fingerprint: None,
    }
}

/// A code request for a number, valid for ten minutes.
pub(crate) fn text(number: &str) -> LoginOrCreateByText {
    LoginOrCreateByText {
        phone_number: number.to_owned(),
        expires_in: Some(10),
        requires_verification: None,
        device_fingerprint: None,
    }
}

/// The code of a number as presented.
pub(crate) fn text_proof(phone: PhoneNumberId, code: &str) -> VerifyCode {
    VerifyCode {
        method_id: MethodId::Phone(phone),
        otp: Secret::new(code.to_owned()),
        session_fields: SessionFields::default(),
        device_fingerprint: DeviceFingerprint::default(),
    }
}

/// A code as presented, with no session requested.
pub(crate) fn proof(email: EmailId, code: &str) -> VerifyCode {
    VerifyCode {
        method_id: MethodId::Email(email),
        otp: Secret::new(code.to_owned()),
        session_fields: SessionFields::default(),
        device_fingerprint: DeviceFingerprint::default(),
    }
}

/// An address or number that the App attaches without vouching for it.
pub(crate) fn claim(text: &str) -> NewIdentifier {
    NewIdentifier {
        text: text.to_owned(),
        verified: false,
    }
}

/// A request for a session of the given minutes.
pub(crate) fn lasting(minutes: i64) -> SessionFields {
    SessionFields {
        session_expires_in: Some(minutes),
        ..SessionFields::default()
    }
}

/// A session, by its token.
pub(crate) fn named(token: &Secret<String>) -> SessionNamed {
    SessionNamed {
        token: Some(token.clone()),
        jwt: None,
    }
}

/// A code that differs from this one.
pub(crate) fn wrong(code: &str) -> &'static str {
    if code == "271828" { "314159" } else { "271828" }
}

/// Calls as an endpoint does: on the web worker first, and on the service's own threads if that returns nothing.
pub(crate) async fn verify(
    service: &Service,
    caller: &Caller,
    command: VerifySession,
) -> Result<VerifiedSession, Refusal> {
    match service.verify_session_at_once(caller, &command).await {
        Some(verified) => verified,
        None => service.verify_session(caller, command).await,
    }
}

/// The command line as a caller in this world.
pub(crate) async fn operator(service: &Service, world: World) -> Caller {
    service.caller(Principal::cli(), world).await.unwrap()
}
