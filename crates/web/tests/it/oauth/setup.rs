//! Sign-ins at providers played by the test, modelled on the real ones: the service calls them through its real adapter.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_contract::provider::{CLIENT_ID, Callback, Person, ProviderServer, Shape};
use vestry_domain::api_key::ApiKeyKind;
use vestry_domain::app::App;
use vestry_domain::provider::ConnectionSettings;
use vestry_domain::{Environment, World};
use vestry_idp_oauth::{OauthProviders, Settings};
use vestry_ports::clock::Clock;

use super::{OWN, destination, path, token, verify};
use crate::harness::{Api, Client, Options, Response};

/// A service that may call providers on this machine. The machine may be busy, so it waits as long as a response can take.
pub(crate) fn provider_options() -> Options {
    options_with_timeout(Duration::from_secs(60))
}

/// A service that waits only this long for a response.
pub(super) fn options_with_timeout(patience: Duration) -> Options {
    let mut settings = Settings {
        allowed_networks: vec!["127.0.0.0/8".parse().unwrap()],
        ..Settings::default()
    };
    settings.limits.whole = patience;
    Options {
        providers: Some(Arc::new(OauthProviders::new(&settings).unwrap())),
        ..Options::default()
    }
}

/// A provider, and an App that is connected to it.
pub(crate) struct ProviderSetup<'a> {
    pub(crate) server: ProviderServer,
    /// With a secret key of the App.
    pub(crate) client: Client<'a>,
    /// The path of the callback.
    pub(crate) callback: String,
    pub(crate) name: &'static str,
    shape: Shape,
    world: World,
    api: &'a Api,
}

/// A sign-in that was begun.
pub(crate) struct Begun {
    /// The URL to which the browser is sent.
    pub(crate) url: String,
    pub(crate) state: String,
}

impl<'a> ProviderSetup<'a> {
    /// The App of the test, in its test environment.
    pub(crate) async fn at(api: &'a Api, name: &'static str, shape: Shape) -> Self {
        Self::of(api, &api.app, Environment::Test, name, shape).await
    }

    /// Any App.
    pub(crate) async fn of(
        api: &'a Api,
        app: &App,
        environment: Environment,
        name: &'static str,
        shape: Shape,
    ) -> Self {
        let key = api.key_of(app, ApiKeyKind::Secret, environment, &[]).await;
        let mut setup = Self {
            server: ProviderServer::start(shape).await,
            client: api.with_key(&key),
            callback: String::new(),
            name,
            shape,
            world: World::new(app.id, environment),
            api,
        };
        setup.set(setup.server.settings()).await;
        setup
    }

    /// Replaces the App's connection.
    pub(crate) async fn set(&mut self, settings: ConnectionSettings) {
        let (name, secret) = (self.name.parse().unwrap(), self.server.client_secret());
        let service = &self.api.service;
        let set = service.set_provider(
            Principal::cli(),
            self.world,
            name,
            CLIENT_ID,
            &secret,
            settings,
        );
        path(&set.await.unwrap().callback_url).clone_into(&mut self.callback);
    }

    /// The response of `begin`.
    pub(crate) async fn begins(&self, query: &str) -> Response {
        let path = format!("/v1/auth/oauth/{}/begin?{query}", self.name);
        self.client.get(&path).await
    }

    pub(crate) async fn begin(&self, query: &str) -> Begun {
        let begun = self.begins(query).await.ok();
        Begun {
            url: begun.text_at("/url"),
            state: begun.text_at("/state"),
        }
    }

    /// The callback that the browser returns with after visiting the URL. The provider uses the service's clock.
    pub(crate) fn respond(&self, url: &str) -> Callback {
        self.server.sets_its_clock(self.api.clock.machine());
        self.server.answer(url)
    }

    /// Sends the browser to the callback, with a query or with Apple's form (O-13); returns its landing URL.
    pub(crate) async fn lands(&self, browser: &Client<'_>, callback: &Callback) -> String {
        let form = callback.form();
        if self.shape != Shape::Apple {
            let back = browser.get(&format!("{}?{form}", self.callback)).await;
            return destination(&back, 302);
        }
        let browser = browser
            .clone()
            .header("Content-Type", "application/x-www-form-urlencoded");
        let back = browser.send_bytes("POST", &self.callback, form.as_bytes());
        destination(&back.await, 303)
    }

    /// Away and back; returns the landing URL, and the state of the flow.
    pub(crate) async fn landed(&self) -> (String, String) {
        let begun = self.begin("").await;
        let callback = self.respond(&begun.url);
        assert_eq!(path(&callback.redirect_uri), self.callback);
        let landed = self.lands(&self.api.anonymous(), &callback).await;
        (landed, begun.state)
    }

    /// A person's whole flow, up to a session.
    pub(crate) async fn sign_in(&self, person: Person) -> Response {
        self.server.signs_in(Some(person));
        let (url, _) = self.landed().await;
        let request = json!({"token": token(&url), "session_expires_in": 60});
        verify(&self.client, request).await
    }

    /// The whole flow to a link within a session, for an App that has kept the state.
    pub(crate) async fn link(&self, person: Person, session_token: &str) -> Response {
        self.server.signs_in(Some(person));
        let (url, state) = self.landed().await;
        let request = json!({"token": token(&url), "state": state, "session_token": session_token});
        verify(&self.client, request).await
    }

    /// Away, and back to the App itself.
    pub(crate) async fn own(&self) -> Callback {
        let begun = self.begin(&format!("redirect_uri={OWN}")).await;
        let callback = self.respond(&begun.url);
        assert_eq!(
            (&*callback.redirect_uri, &callback.state),
            (OWN, &begun.state)
        );
        callback
    }

    /// The App verifies what it received.
    pub(crate) async fn verifies(&self, callback: &Callback) -> Response {
        let mut request = json!({
            "code": callback.code, "state": callback.state, "session_expires_in": 60,
        });
        if let Some(iss) = &callback.iss {
            request["iss"] = json!(iss);
        }
        verify(&self.client, request).await
    }
}

/// The number of users in the test environment.
pub(crate) async fn users(api: &Api) -> Value {
    let path = "/v1/auth/users/search";
    let found = api.test().post(path, json!({})).await.ok();
    found.body["total_count"].clone()
}
