//! Shared helpers: users with every sign-in method.

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_contract::browser::Browser;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World, totp};
use vestry_ports::clock::Clock;

use crate::flows::{Sent, newest_code, signed_in};
use crate::harness::Api;

pub(crate) const PASSWORD: &str = "correct horse battery";

/// A signed-in person.
pub(crate) struct Person {
    pub(crate) user: String,
    pub(crate) token: String,
}

/// A person with a session and a password.
pub(crate) async fn with_password(api: &Api, email: &str) -> Person {
    let session = signed_in(api, email).await;
    let person = Person {
        user: session.text_at("/user_id"),
        token: session.text_at("/session_token"),
    };
    let request = json!({"session_token": person.token, "password": PASSWORD});
    let path = "/v1/auth/passwords/session/update";
    api.test().post(path, request).await.ok();
    person
}

/// Registers a default URL of each kind in both environments.
pub(crate) async fn with_urls(api: &Api) {
    for environment in Environment::ALL {
        for kind in RedirectKind::ALL {
            let world = World::new(api.app.id, environment);
            let url = format!("https://app.example.com/{kind}");
            let added = api
                .service
                .add_redirect_url(Principal::cli(), world, kind, &url, true);
            added.await.unwrap();
        }
    }
}

/// Turns on `enumeration_safe` for the App (attack 9).
pub(super) async fn enumeration_safe(api: &Api) {
    let safe = [("enumeration_safe".to_owned(), "true".to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &safe)
        .await
        .unwrap();
    // Settings are read once a second.
    api.pass(1);
}

pub(crate) const SESSION: &str = "/v1/auth/sessions/verify";
pub(crate) const TOTP: &str = "/v1/auth/totps/verify";
pub(crate) const PASSWORDS: &str = "/v1/auth/passwords/verify";
pub(super) const LINKS: &str = "/v1/auth/magic_links/verify";
pub(crate) const CODES: &str = "/v1/auth/otps/verify";
pub(crate) const PASSKEYS: &str = "/v1/auth/webauthn/verify";

/// Whether the token still opens a session.
pub(super) async fn is_open(api: &Api, token: &str) -> bool {
    let request = json!({ "session_token": token });
    api.test().post(SESSION, request).await.status == 200
}

/// A code sent by text message.
pub(crate) async fn texted(api: &Api, number: &str) -> Sent {
    let request = json!({"phone_number": number, "expires_in": 10});
    let path = "/v1/auth/otps/sms/login_or_create";
    let sent = api.test().post(path, request).await.ok();
    api.deliver().await;
    Sent {
        user_id: sent.text_at("/user_id"),
        method_id: sent.text_at("/phone_number_id"),
        code: newest_code(&api.test(), number).await,
    }
}

/// The newest mail of a kind to an address.
pub(super) async fn mail_to(api: &Api, kind: &str, email: &str) -> Value {
    api.deliver().await;
    let path = format!("/v1/test/messages?kind={kind}&to={email}");
    let found = api.test().get(&path).await.ok();
    found.body["messages"][0].clone()
}

/// Sends a link with this call and returns its token.
pub(crate) async fn link_to(api: &Api, path: &str, email: &str) -> String {
    let request = json!({ "email": email });
    api.test().post(path, request).await.ok();
    let is_reset = path.ends_with("reset/begin");
    let kind = if is_reset {
        "password_reset"
    } else {
        "magic_link"
    };
    let mail = mail_to(api, kind, email).await;
    mail["token"].as_str().expect("a link").to_owned()
}

/// A user's authenticator app.
pub(crate) struct Authenticator {
    pub(crate) id: String,
    pub(crate) recovery: Vec<String>,
    seed: Vec<u8>,
}

impl Authenticator {
    /// An app whose first code was verified in a past step. A new credential ends the sessions of the user.
    pub(crate) async fn of(api: &Api, user: &str) -> Self {
        let request = json!({ "user_id": user });
        let path = "/v1/auth/totps/create";
        let created = api.test().post(path, request).await.ok();
        let secret = created.text_at("/secret");
        let codes = created.body["recovery_codes"].as_array().unwrap();
        let made = Self {
            id: created.text_at("/totp_id"),
            recovery: codes
                .iter()
                .map(|code| code.as_str().unwrap().to_owned())
                .collect(),
            seed: data_encoding::BASE32_NOPAD
                .decode(secret.as_bytes())
                .unwrap(),
        };
        let request = json!({"user_id": user, "totp": made.shows(api)});
        api.test().post(TOTP, request).await.ok();
        api.pass(30);
        made
    }

    /// The seed that it shares with the service.
    pub(super) fn seed(&self) -> &[u8] {
        &self.seed
    }

    /// The code that it shows now.
    pub(crate) fn shows(&self, api: &Api) -> String {
        let step = api.clock.machine().unix().div_euclid(30);
        totp::code_at(&self.seed, step).expose().clone()
    }
}

/// The origin of the browsers in these tests.
pub(crate) const PAGE: &str = "http://localhost:3000";

/// Registers a passkey of the browser and returns its id. A new credential ends the sessions of the user.
pub(crate) async fn passkey(api: &Api, browser: &mut Browser, user: &str) -> String {
    let request = json!({"domain": "localhost", "user_id": user});
    let path = "/v1/auth/webauthn/registrations/begin";
    let begun = api.test().post(path, request).await.ok();
    let options = &begun.body["public_key_credential_creation_options"];
    let credential = browser.create(options).await;
    let request = json!({"user_id": user, "public_key_credential": credential});
    let path = "/v1/auth/webauthn/registrations/create";
    let created = api.test().post(path, request).await.ok();
    created.text_at("/webauthn_credential_id")
}

/// The browser's response to a fresh challenge that names no user.
pub(crate) async fn assertion(api: &Api, browser: &mut Browser) -> Value {
    let path = "/v1/auth/webauthn/authentication/begin";
    let begun = api.test().post(path, json!({"domain": "localhost"})).await;
    let options = &begun.ok().body["public_key_credential_request_options"];
    browser.get(options).await
}

/// A self-custodied wallet. It is a managed wallet of the same service's live environment, and unknown to the test environment.
pub(crate) struct Pocket {
    id: String,
    pub(crate) address: String,
}

impl Pocket {
    pub(crate) async fn new(api: &Api) -> Self {
        Self::of(api, "pocket@example.com").await
    }

    /// A wallet of a live user who is created with it.
    pub(crate) async fn of(api: &Api, email: &str) -> Self {
        let request = json!({"first_name": "Pocket", "include_user": true, "email": email});
        let path = "/v1/auth/users/create";
        let created = api.live().post(path, request).await.ok();
        Self {
            id: created.text_at("/user/wallets/0/id"),
            address: created.text_at("/user/wallets/0/public_address"),
        }
    }

    /// A signature of a fresh challenge, for this user or for the wallet's holder.
    pub(crate) async fn proof(&self, api: &Api, user: Option<&str>) -> Value {
        let mut request = json!({"wallet_type": "ethereum", "public_address": self.address});
        if let Some(user) = user {
            request["user_id"] = user.into();
        }
        let path = "/v1/auth/wallets/registrations/begin";
        let begun = api.test().post(path, request).await.ok();
        let message = json!({"message": begun.text_at("/challenge")});
        let path = format!("/v1/wallets/{}/sign_message", self.id);
        let signed = api.live().post(&path, message).await.ok();
        json!({
            "wallet_type": "ethereum", "public_address": self.address,
            "signature": signed.text_at("/signature"),
        })
    }
}

/// Six digits other than these.
pub(super) fn not(code: &str) -> &'static str {
    if code == "271828" { "314159" } else { "271828" }
}

/// The request with further fields.
pub(crate) fn with(mut request: Value, further: Value) -> Value {
    let fields = further.as_object().unwrap().clone();
    request.as_object_mut().unwrap().extend(fields);
    request
}
