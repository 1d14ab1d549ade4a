//! A service on its own listener, with an App, its keys and a client.

mod client;
mod contract;
mod database;
mod http;
mod mask;
mod response;
mod stalled;
mod vault;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use actix_web::dev::ServerHandle;
use actix_web::{App as ActixApp, HttpServer};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use vestry_app::{Caller, ConsoleAddress, Ports, Principal, Service, Settings};
use vestry_console::ConsoleSettings;
use vestry_contract::fakes::{FakeClock, FakeMailer, FakeSms, FakeWebhooks, SeededEntropy};
use vestry_custody::Custody;
use vestry_domain::api_key::{ApiKeyKind, KeyFields, Scope};
use vestry_domain::app::App;
use vestry_domain::ids::ApiKeyId;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp, World};
use vestry_edge::{Pages, WebSettings};
use vestry_limiter::MemoryLimiter;
use vestry_passkeys::Webauthn;
use vestry_password_argon2::{Argon2Hasher, Settings as Hashing};
use vestry_ports::entropy::Entropy;
use vestry_ports::identity_providers::IdentityProviders;
use vestry_ports::limiter::RateLimiter;
use vestry_ports::mailer::Mailer;
use vestry_ports::meter::NoMeter;
use vestry_ports::sms::SmsSender;
use vestry_ports::store::Store;
use vestry_ports::vault::Vaults;
use vestry_store_sql::SqlStore;
use vestry_token_jwt::JwtSigner;
use vestry_vault_local::LocalVault;

pub(crate) use client::Client;
pub(crate) use contract::described;
pub(crate) use database::{Lane, Place};
pub(crate) use http::{Connection, Raw};
pub(crate) use response::{Response, assert_response_snapshot};
pub(crate) use stalled::StalledTransport;
use vault::Removable;

/// The API under test.
pub(crate) static API: vestry_edge::Api = vestry_edge::Api::new(
    vestry_web::description,
    &[vestry_web::endpoints, vestry_manage::endpoints],
);

/// The time at which every test begins.
pub(crate) const START: Timestamp = Timestamp::from_unix(1_800_000_000);

/// Settings that a test may change.
/// The origin of the console.
pub(crate) const CONSOLE: &str = "https://console.example.com";

pub(crate) struct Options {
    pub(crate) web: WebSettings,
    pub(crate) service: Settings,
    pub(crate) limiter: Arc<dyn RateLimiter>,
    pub(crate) has_mailer: bool,
    pub(crate) has_sms: bool,
    /// Identity providers; the default is the built-in one.
    pub(crate) providers: Option<Arc<dyn IdentityProviders>>,
    /// Replaces the transports that store their messages.
    pub(crate) transport: Option<Arc<StalledTransport>>,
    /// Weak, with capacity for any test; the flood tests set their own.
    pub(crate) hashing: Hashing,
    /// Address of the listener; the port is always a free one.
    pub(crate) listen: &'static str,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            web: WebSettings::default(),
            service: Settings {
                issuer_host: "id.example.com".to_owned(),
                public_url: "https://id.example.com".to_owned(),
                // Far above any test's needs; the limit tests set their own.
                test_per_minute: 100_000,
                live_per_minute: 100_000,
                sends_per_identifier: 0,
                search_within: Settings::SEARCH_WITHIN,
                searches_at_once: Settings::searches_with(4),
                webhooks_in_flight: Settings::WEBHOOKS_IN_FLIGHT,
                max_waiting: Settings::MAX_WAITING,
                checkpoint_every: Settings::CHECKPOINT_EVERY,
                require_anchor: None,
                console: Some(ConsoleAddress {
                    origin: CONSOLE.to_owned(),
                    host: "console.example.com".to_owned(),
                    needs_second_factor: true,
                }),
            },
            limiter: Arc::new(MemoryLimiter::new()),
            has_mailer: true,
            has_sms: true,
            providers: None,
            transport: None,
            hashing: Hashing::weakest(),
            listen: "127.0.0.1:0",
        }
    }
}

/// The service, its listener, and what a test needs to control them.
pub(crate) struct Api {
    pub(crate) service: Arc<Service>,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) mailer: Arc<FakeMailer>,
    pub(crate) sms: Arc<FakeSms>,
    pub(crate) webhooks: Arc<FakeWebhooks>,
    pub(crate) vault: Arc<Removable>,
    pub(crate) sign_in_key: Arc<Removable>,
    pub(crate) app: App,
    pub(crate) place: Place,
    listening: Listening,
    test_key: String,
    live_key: String,
}

/// A listener of one process.
pub(crate) struct Listening {
    address: SocketAddr,
    handle: ServerHandle,
    running: JoinHandle<std::io::Result<()>>,
}

impl Listening {
    fn start(service: &Arc<Service>, settings: WebSettings, at: &str) -> Self {
        let console = ConsoleSettings {
            origin: CONSOLE.to_owned(),
        };
        let pages: Pages = Arc::new(vestry_console::pages(console));
        let configure = vestry_edge::configure(Arc::clone(service), settings, &API, Some(pages));
        let listener = TcpListener::bind(at).unwrap();
        let address = listener.local_addr().unwrap();
        let server = HttpServer::new(move || ActixApp::new().configure(configure.clone()))
            .workers(1)
            .disable_signals()
            .listen(listener)
            .unwrap()
            .run();
        Self {
            address,
            handle: server.handle(),
            running: tokio::spawn(server),
        }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) async fn stop(self) {
        self.handle.stop(false).await;
        self.running.await.unwrap().unwrap();
    }
}

/// Runs a test on a fresh database of the lane. Does nothing if the lane is missing, which is reported.
pub(crate) async fn on(lane: Lane, test: impl AsyncFnOnce(&Api)) {
    on_with(lane, Options::default(), test).await;
}

/// The same with a modified service or listener.
pub(crate) async fn on_with(lane: Lane, options: Options, test: impl AsyncFnOnce(&Api)) {
    if let Some(place) = lane.place().await {
        let api = Api::start(place, options).await;
        test(&api).await;
        api.stop().await;
    }
}

impl Api {
    pub(crate) async fn start(place: Place, options: Options) -> Self {
        let clock = Arc::new(FakeClock::at(START));
        let mailer = Arc::new(FakeMailer::default());
        let sms = Arc::new(FakeSms::default());
        let webhooks = Arc::new(FakeWebhooks::default());
        let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::fresh());
        let [vault, sign_in_key] =
            ["root.key", "sign-in.key"].map(|file| root_key(&place, file, &entropy));
        let vaults = Vaults {
            wallets: vault.clone(),
            secrets: sign_in_key.clone(),
        };
        let mut ports = ports(&place, &clock, &mailer, vaults, entropy, &options).await;
        ports.sms = options
            .has_sms
            .then(|| -> Arc<dyn SmsSender> { sms.clone() });
        ports.webhooks = Some(webhooks.clone());
        if let Some(stalled) = &options.transport {
            ports.mailer = Some(stalled.clone());
            ports.sms = Some(stalled.clone());
        }
        let service = Arc::new(Service::new(ports, options.service, Handle::current()));
        let app = service.create_app(Principal::cli(), "Demo").await.unwrap();
        let listening = Listening::start(&service, options.web, options.listen);
        let mut api = Self {
            service,
            clock,
            mailer,
            sms,
            webhooks,
            vault,
            sign_in_key,
            app,
            place,
            listening,
            test_key: String::new(),
            live_key: String::new(),
        };
        api.test_key = api.new_key(Environment::Test, &[]).await;
        api.live_key = api.new_key(Environment::Live, &[]).await;
        api
    }

    /// Direct access to the database.
    pub(crate) async fn store(&self) -> SqlStore {
        SqlStore::connect(&self.place.settings).await.unwrap()
    }

    /// Another process over the same database and root keys, with its own clock.
    pub(crate) async fn other_process(&self, clock: &Arc<FakeClock>) -> Arc<Service> {
        let options = Options::default();
        let vaults = Vaults {
            wallets: self.vault.clone(),
            secrets: self.sign_in_key.clone(),
        };
        let entropy = Arc::new(SeededEntropy::fresh());
        let ports = ports(&self.place, clock, &self.mailer, vaults, entropy, &options).await;
        Arc::new(Service::new(ports, options.service, Handle::current()))
    }

    /// A listener of another process over the same database.
    pub(crate) async fn second_listener(&self) -> Listening {
        let other = self.other_process(&self.clock).await;
        Listening::start(&other, WebSettings::default(), "127.0.0.1:0")
    }

    pub(crate) async fn stop(self) {
        self.listening.stop().await;
    }

    /// A fresh secret key of the App.
    pub(crate) async fn new_key(&self, environment: Environment, scopes: &[Scope]) -> String {
        self.key_of(&self.app, ApiKeyKind::Secret, environment, scopes)
            .await
    }

    /// A client with a fresh test key of the App that has these fields.
    pub(crate) async fn restricted(&self, fields: KeyFields) -> Client<'_> {
        self.restricted_key(fields).await.1
    }

    /// The same with the key's id.
    pub(crate) async fn restricted_key(&self, fields: KeyFields) -> (ApiKeyId, Client<'_>) {
        let world = World::new(self.app.id, Environment::Test);
        let kind = ApiKeyKind::Secret;
        let made = (self.service)
            .create_api_key(Principal::cli(), world, kind, fields)
            .await
            .unwrap();
        (made.record.id, self.with_key(made.key.expose()))
    }

    /// A fresh key of any App.
    pub(crate) async fn key_of(
        &self,
        app: &App,
        kind: ApiKeyKind,
        environment: Environment,
        scopes: &[Scope],
    ) -> String {
        let world = World::new(app.id, environment);
        let made = self
            .service
            .create_api_key(
                Principal::cli(),
                world,
                kind,
                KeyFields::scoped(scopes.to_vec()),
            )
            .await;
        made.unwrap().key.expose().clone()
    }

    /// A client with the test key.
    pub(crate) fn test(&self) -> Client<'_> {
        self.with_key(&self.test_key)
    }

    /// The test key itself.
    pub(crate) fn test_key(&self) -> &str {
        &self.test_key
    }

    /// A client with the live key.
    pub(crate) fn live(&self) -> Client<'_> {
        self.with_key(&self.live_key)
    }

    /// A client without a key.
    pub(crate) fn anonymous(&self) -> Client<'_> {
        Client::new(self)
    }

    pub(crate) fn with_key(&self, key: &str) -> Client<'_> {
        Client::new(self).header("Authorization", &format!("Bearer {key}"))
    }

    /// A test client of another App.
    pub(crate) async fn other_app(&self) -> Client<'_> {
        let other = self
            .service
            .create_app(Principal::cli(), "Other")
            .await
            .unwrap();
        let key = self
            .key_of(&other, ApiKeyKind::Secret, Environment::Test, &[])
            .await;
        self.with_key(&key)
    }

    /// A connection for bytes that no client would send.
    pub(crate) async fn connect(&self) -> Connection {
        Connection::to(self.port()).await
    }

    pub(crate) fn port(&self) -> u16 {
        self.listening.port()
    }

    /// Advances the clock.
    pub(crate) fn pass(&self, seconds: i64) {
        self.clock.advance(Seconds(seconds));
    }

    /// Delivers everything that is due, as the worker of the process would.
    pub(crate) async fn deliver(&self) {
        while self.service.deliver_due("test").await.unwrap() > 0 {}
    }
}

fn root_key(place: &Place, file: &str, entropy: &Arc<dyn Entropy>) -> Arc<Removable> {
    let file = place.directory.path().join(file);
    LocalVault::create(&file, &**entropy).unwrap();
    let vault = LocalVault::open(&file, Arc::clone(entropy)).unwrap();
    Arc::new(Removable::new(vault))
}

async fn ports(
    place: &Place,
    clock: &Arc<FakeClock>,
    mailer: &Arc<FakeMailer>,
    vaults: Vaults,
    entropy: Arc<dyn Entropy>,
    options: &Options,
) -> Ports {
    let store: Arc<dyn Store> = Arc::new(SqlStore::connect(&place.settings).await.unwrap());
    let custody = Custody::new(vaults.clone(), Arc::clone(&store), Arc::clone(&entropy));
    let custody = Arc::new(custody.unwrap());
    Ports {
        store,
        vaults,
        custodian: custody.clone(),
        sealer: custody.clone(),
        checkpoint_signer: custody.clone(),
        signatures: custody.clone(),
        tokens: Arc::new(JwtSigner::new(custody)),
        passkeys: Arc::new(Webauthn),
        providers: options.providers.clone(),
        limiter: Arc::clone(&options.limiter),
        mailer: options
            .has_mailer
            .then(|| -> Arc<dyn Mailer> { mailer.clone() }),
        sms: None,
        webhooks: None,
        sinks: Vec::new(),
        epoch_store: None,
        passwords: Arc::new(Argon2Hasher::new(options.hashing, Arc::clone(&entropy)).unwrap()),
        breached: None,
        meter: Arc::new(NoMeter),
        clock: clock.clone(),
        entropy,
    }
}

/// Turns each named function, which takes an [`Api`], into a test on both databases. With `options`, a function of that name supplies the
/// settings for all of them.
macro_rules! on_both {
    ($($name:ident)*) => { $crate::harness::on_both! { default_options; $($name)* } };
    ($options:ident; $($name:ident)*) => {
        mod on_sqlite {
            #[allow(unused_imports, reason = "some modules supply their own options")]
            use {super::*, $crate::harness::default_options};
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    $crate::harness::on_with($crate::harness::Lane::Sqlite, $options(), super::$name).await;
                }
            )*
        }
        mod on_postgres {
            #[allow(unused_imports, reason = "some modules supply their own options")]
            use {super::*, $crate::harness::default_options};
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    $crate::harness::on_with($crate::harness::Lane::Postgres, $options(), super::$name).await;
                }
            )*
        }
    };
}
pub(crate) use on_both;

/// The defaults.
pub(crate) fn default_options() -> Options {
    Options::default()
}

/// The command line as a caller in this world.
pub(crate) async fn operator(service: &Service, world: World) -> Caller {
    service.caller(Principal::cli(), world).await.unwrap()
}
