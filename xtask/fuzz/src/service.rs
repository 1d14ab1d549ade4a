//! The whole service over an in-memory database, called without a listener.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};

use tokio::runtime::{Builder, Runtime};
use vestry_app::{Ports, Principal, Service, Settings};
use vestry_contract::fakes::{
    FakeClock, FakeLimiter, FakeMailer, FakeProviders, FakeSms, FakeStore, SeededEntropy,
};
use vestry_custody::Custody;
use vestry_domain::api_key::{ApiKeyKind, KeyFields, Scope};
use vestry_domain::{Environment, World};
use vestry_passkeys::Webauthn;
use vestry_password_argon2::{Argon2Hasher, Settings as Hashing};
use vestry_ports::entropy::Entropy;
use vestry_ports::meter::NoMeter;
use vestry_ports::passwords::PasswordHasher;
use vestry_token_jwt::JwtSigner;

use crate::custody::{NOW, vaults};

/// The runtime for commands.
pub static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
});

/// One for all services of the process, because it starts threads.
static PASSWORDS: LazyLock<Arc<Argon2Hasher>> = LazyLock::new(|| {
    let settings = Hashing {
        threads: NonZeroUsize::MIN,
        ..Hashing::weakest()
    };
    let hasher = Argon2Hasher::new(settings, Arc::new(SeededEntropy::from_seed(9)));
    Arc::new(hasher.expect("a hasher"))
});

/// The password hasher of every service here.
pub fn passwords() -> &'static dyn PasswordHasher {
    &**PASSWORDS
}

/// A service with an App and its keys.
pub struct FuzzService {
    /// The use cases.
    pub service: Arc<Service>,
    /// The service's clock, which stands still.
    pub clock: Arc<FakeClock>,
    /// The test world of the App.
    pub world: World,
    /// A secret key of the test world, with every scope.
    pub test_key: String,
    /// A secret key of the live world, with every scope.
    pub live_key: String,
}

impl FuzzService {
    /// A fresh service.
    ///
    /// # Panics
    /// If it cannot be set up.
    pub fn new() -> Self {
        RUNTIME.block_on(Self::build())
    }

    /// Like `new`, within a running runtime.
    ///
    /// # Panics
    /// If it cannot be set up.
    pub async fn build() -> Self {
        let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::from_seed(8));
        let store = Arc::new(FakeStore::default());
        let vaults = vaults(&entropy);
        let custody = Custody::new(vaults.clone(), store.clone(), Arc::clone(&entropy));
        let custody = Arc::new(custody.expect("custody"));
        let clock = Arc::new(FakeClock::at(NOW));
        let ports = Ports {
            store,
            vaults,
            custodian: custody.clone(),
            sealer: custody.clone(),
            checkpoint_signer: custody.clone(),
            sinks: Vec::new(),
            signatures: custody.clone(),
            tokens: Arc::new(JwtSigner::new(custody)),
            passkeys: Arc::new(Webauthn),
            providers: Some(Arc::new(FakeProviders::default())),
            limiter: Arc::new(FakeLimiter::default()),
            mailer: Some(Arc::new(FakeMailer::default())),
            sms: Some(Arc::new(FakeSms::default())),
            webhooks: None,
            passwords: PASSWORDS.clone(),
            breached: None,
            meter: Arc::new(NoMeter),
            clock: clock.clone(),
            entropy,
        };
        let settings = Settings {
            issuer_host: "id.example.com".to_owned(),
            public_url: "https://id.example.com".to_owned(),
            test_per_minute: 0,
            live_per_minute: 0,
            sends_per_identifier: 0,
            search_within: Settings::SEARCH_WITHIN,
            searches_at_once: Settings::searches_with(4),
            webhooks_in_flight: Settings::WEBHOOKS_IN_FLIGHT,
            max_waiting: Settings::MAX_WAITING,
            checkpoint_every: Settings::CHECKPOINT_EVERY,
            require_anchor: None,
            console: None,
        };
        let service = Arc::new(Service::new(ports, settings, RUNTIME.handle().clone()));
        let app = service
            .create_app(Principal::cli(), "Fuzz")
            .await
            .expect("an App");
        let key = async |environment| {
            let world = World::new(app.id, environment);
            let scopes = Scope::ALL.to_vec();
            let made = service.create_api_key(
                Principal::cli(),
                world,
                ApiKeyKind::Secret,
                KeyFields::scoped(scopes),
            );
            made.await.expect("a key").key.expose().clone()
        };
        Self {
            world: World::new(app.id, Environment::Test),
            test_key: key(Environment::Test).await,
            live_key: key(Environment::Live).await,
            service,
            clock,
        }
    }
}

impl Default for FuzzService {
    fn default() -> Self {
        Self::new()
    }
}
