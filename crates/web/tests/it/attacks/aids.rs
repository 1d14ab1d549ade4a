//! What several rows need: users with every way to sign in.

use serde_json::json;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};

use crate::journeys::signed_in;
use crate::rig::Api;

pub(super) const PASSWORD: &str = "correct horse battery";

/// Somebody who is signed in.
pub(super) struct Person {
    pub(super) user: String,
    pub(super) token: String,
}

/// Signed in with a session, and with a password.
pub(super) async fn with_password(api: &Api, email: &str) -> Person {
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

/// A default URL of each kind in both environments.
pub(super) async fn with_urls(api: &Api) {
    for environment in Environment::ALL {
        for kind in RedirectKind::ALL {
            let world = World::new(api.app.id, environment);
            let url = format!("https://app.example.com/{kind}");
            let added = api.service.add_redirect_url(world, kind, &url, true);
            added.await.unwrap();
        }
    }
}

/// The App tells nobody who is known (attack 9).
pub(super) async fn enumeration_safe(api: &Api) {
    let safe = [("enumeration_safe".to_owned(), "true".to_owned())];
    api.service.set_app(api.app.id, &safe).await.unwrap();
    // Settings are read once a second.
    api.pass(1);
}
