//! An App with a connection, and the steps of its sign-ins.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use vestry_contract::provider::{CLIENT_ID, Callback, ProviderServer};
use vestry_contract::rng::Rng;
use vestry_domain::ids::{AppId, Id, OauthCallbackId};
use vestry_domain::provider::{
    Connection, ConnectionSettings, ProviderName, code_challenge, code_verifier, nonce, state,
};
use vestry_domain::{Environment, Secret, Timestamp, World};
use vestry_idp_oauth::{OauthProviders, Settings};
use vestry_ports::identity_providers::{
    AuthorizationRequest, Exchanged, Grant, IdentityProviders, ProviderAccess, ProviderFault,
};

pub(crate) const REDIRECT_URI: &str =
    "https://vestry.example.com/v1/auth/oauth/callback/oauthcb_test";

/// Settings for providers on this machine, with patience for a busy one.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings {
        allowed_networks: vec!["127.0.0.0/8".parse().unwrap()],
        ..Settings::default()
    };
    settings.limits.whole = Duration::from_secs(60);
    settings
}

/// Settings with a short timeout for providers that do not respond.
pub(crate) fn hasty() -> Settings {
    let mut hasty = settings();
    hasty.limits.whole = Duration::from_millis(500);
    hasty
}

/// Returns an adapter with these settings. Creating one reads the machine's certificate authorities. One per test is enough, because its
/// caches are keyed by address, and every provider has its own.
pub(crate) fn adapter(settings: &Settings) -> Arc<OauthProviders> {
    Arc::new(OauthProviders::new(settings).unwrap())
}

pub(crate) fn connection(name: &str, settings: ConnectionSettings) -> Connection {
    let at = Timestamp::from_unix(1_800_000_000);
    let connection = Connection {
        callback_id: OauthCallbackId::new(at, [1; 16]),
        world: World::new(AppId::new(at, [2; 16]), Environment::Test),
        name: ProviderName::parse(name).unwrap(),
        client_id: CLIENT_ID.to_owned(),
        settings,
        created_at: at,
        updated_at: at,
    };
    connection.check().unwrap();
    connection
}

/// The machine's time, which the providers use.
pub(crate) fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "the test's provider uses it too")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_unix(i64::try_from(now.as_secs()).unwrap())
}

/// An App connected to one provider.
pub(crate) struct App {
    pub(crate) providers: Arc<OauthProviders>,
    pub(crate) connection: Connection,
    pub(crate) secret: Secret<String>,
}

/// The state kept while a browser is away.
pub(crate) struct Flow {
    pub(crate) state: Secret<String>,
    pub(crate) nonce: Secret<String>,
    pub(crate) verifier: Secret<String>,
}

impl Flow {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::from_seed(seed);
        let mut source = |buffer: &mut [u8]| rng.fill(buffer);
        let name = ProviderName::parse("example").unwrap();
        Self {
            state: state(&name, &mut source),
            nonce: nonce(&mut source),
            verifier: code_verifier(&mut source),
        }
    }
}

impl App {
    /// Creates an App without a history.
    pub(crate) fn of(server: &ProviderServer, name: &str) -> Self {
        Self::with(&settings(), server, connection(name, server.settings()))
    }

    /// The same with other settings or another connection.
    pub(crate) fn with(
        settings: &Settings,
        server: &ProviderServer,
        connection: Connection,
    ) -> Self {
        Self::at(&adapter(settings), server, connection)
    }

    /// Creates an App that shares an adapter.
    pub(crate) fn at(
        providers: &Arc<OauthProviders>,
        server: &ProviderServer,
        connection: Connection,
    ) -> Self {
        Self {
            providers: Arc::clone(providers),
            connection,
            secret: server.client_secret(),
        }
    }

    /// Creates an App that shares an adapter, with the usual connection.
    pub(crate) fn beside(
        providers: &Arc<OauthProviders>,
        server: &ProviderServer,
        name: &str,
    ) -> Self {
        Self::at(providers, server, connection(name, server.settings()))
    }

    pub(crate) const fn access(&self) -> ProviderAccess<'_> {
        ProviderAccess {
            connection: &self.connection,
            client_secret: &self.secret,
        }
    }

    /// Returns the URL that the browser is sent to.
    pub(crate) async fn address(&self, flow: &Flow) -> Result<String, ProviderFault> {
        let challenge = code_challenge(&flow.verifier);
        let request = AuthorizationRequest {
            redirect_uri: REDIRECT_URI,
            state: &flow.state,
            nonce: &flow.nonce,
            code_challenge: &challenge,
        };
        self.providers
            .authorization_url(self.access(), request)
            .await
    }

    /// Exchanges the callback of the browser.
    pub(crate) async fn exchange(
        &self,
        flow: &Flow,
        callback: &Callback,
    ) -> Result<Exchanged, ProviderFault> {
        let code = Secret::new(callback.code.clone().unwrap());
        let grant = Grant {
            code: &code,
            issuer: callback.iss.as_deref(),
            redirect_uri: REDIRECT_URI,
            code_verifier: &flow.verifier,
            nonce: &flow.nonce,
            user: callback.user.as_deref(),
            now: now(),
        };
        self.providers.exchange(self.access(), grant).await
    }

    /// Runs the whole sign-in.
    pub(crate) async fn sign_in(
        &self,
        server: &ProviderServer,
        seed: u64,
    ) -> Result<Exchanged, ProviderFault> {
        let flow = Flow::new(seed);
        let address = self.address(&flow).await?;
        let callback = server.answer(&address);
        assert_eq!(callback.state, *flow.state.expose());
        assert_eq!(callback.redirect_uri, REDIRECT_URI);
        self.exchange(&flow, &callback).await
    }
}
