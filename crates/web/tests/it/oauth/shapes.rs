//! The whole flow at every provider: begin, the provider, our callback, the App's landing URL, verify.
//!
//! The providers check what the real ones check; Apple's client secret is a token signed by the team's key (ES256).

use serde_json::json;
use vestry_contract::provider::{Person, Shape, SignsBy};
use vestry_domain::Environment;
use vestry_domain::provider::ConnectionSettings;

use super::setup::{ProviderSetup, provider_options, users};
use super::{LOGIN, REGISTRATION, cookie, lands, location, public_token, token, verify};
use crate::flows::signed_in;
use crate::harness::{Api, Response, on_both};

on_both! { provider_options;
    at_google
    at_apple
    at_microsoft
    at_github
    at_discord
    at_an_issuer_of_the_app
}

async fn at_google(api: &Api) {
    let setup = ProviderSetup::at(api, "google", Shape::OpenId).await;
    let first = journey(api, &setup, Person::new).await;
    assert_eq!(first.body["first_name"], "Ada");
    assert_eq!(first.body["last_name"], "Lovelace");
}

/// It posts its response, names the person in that form at the first sign-in, and writes `true` as a string.
async fn at_apple(api: &Api) {
    let setup = ProviderSetup::at(api, "apple", Shape::Apple).await;
    setup.server.signs_by(SignsBy::Rs256);
    let person = |id: &str, email: &str| Person::new(id, email).with_verified(json!("true"));
    let first = journey(api, &setup, person).await;
    assert_eq!(first.body["first_name"], "Ada");
    assert_eq!(first.body["last_name"], "Lovelace");
}

/// It says whether the domain of an address is the tenant's (O-9b).
async fn at_microsoft(api: &Api) {
    let setup = ProviderSetup::at(api, "microsoft", Shape::Microsoft).await;
    setup.server.signs_by(SignsBy::Rs256);
    let person = |id: &str, email: &str| Person::new(id, email).with("xms_edov", json!(true));
    let first = journey(api, &setup, person).await;
    is_nameless(&first);
}

async fn at_github(api: &Api) {
    let setup = ProviderSetup::at(api, "github", Shape::GitHub).await;
    let first = journey(api, &setup, Person::new).await;
    is_nameless(&first);
}

async fn at_discord(api: &Api) {
    let setup = ProviderSetup::at(api, "discord", Shape::Discord).await;
    let first = journey(api, &setup, Person::new).await;
    is_nameless(&first);
}

/// M-26: it sent a whole name, and the split into parts is unknown.
#[track_caller]
fn is_nameless(user: &Response) {
    for name in ["first_name", "middle_name", "last_name"] {
        assert_eq!(user.body[name], "", "{name}");
    }
}

/// The App has to declare that it trusts the issuer (O-9b).
async fn at_an_issuer_of_the_app(api: &Api) {
    let mut setup = ProviderSetup::at(api, "example", Shape::OpenId).await;
    let believed = ConnectionSettings {
        trust_email_verified: true,
        ..setup.server.settings()
    };
    setup.set(believed).await;
    journey(api, &setup, Person::new).await;
}

/// A new person, the same person again, an existing user, and a person who declines; and the first one's user.
async fn journey(
    api: &Api,
    setup: &ProviderSetup<'_>,
    person: impl Fn(&str, &str) -> Person,
) -> Response {
    lands(api).await;
    setup
        .server
        .signs_in(Some(person("1001", "ada@example.com")));
    let user = registers(api, setup).await;
    let profile = is_linked(api, setup, &user, "1001", "ada@example.com").await;
    // O-8: the second time it is the same user, whatever the address now says.
    setup
        .server
        .signs_in(Some(person("1001", "moved@example.com")));
    assert_eq!(logs_in(setup).await, user);
    assert_eq!(users(api).await, 1);
    // O-9: a proved address joins the user who has it verified.
    let known = signed_in(api, "bob@example.com").await.text_at("/user_id");
    setup
        .server
        .signs_in(Some(person("1002", "bob@example.com")));
    assert_eq!(logs_in(setup).await, known);
    is_linked(api, setup, &known, "1002", "bob@example.com").await;
    assert_eq!(users(api).await, 2);
    // The App's own callback accepts no forms.
    if setup.name != "apple" {
        own_callback(setup, person("1001", "ada@example.com")).await;
    }
    setup.server.signs_in(None);
    let (landed, _) = setup.landed().await;
    assert_eq!(landed, format!("{LOGIN}?error=access_denied"));
    profile
}

/// A new person follows the link on a page; the cookie is sent when the browser returns from the provider, even by a form of its site.
async fn registers(api: &Api, setup: &ProviderSetup<'_>) -> String {
    let public = public_token(api, Environment::Test).await;
    let link = format!(
        "/v1/auth/oauth/{}/begin?public_token={public}&redirect=true",
        setup.name
    );
    let sent = api.anonymous().get(&link).await;
    let is_for_forms = sent
        .header("set-cookie")
        .unwrap()
        .ends_with("; SameSite=None");
    assert_eq!(is_for_forms, setup.name == "apple");
    let callback = setup.respond(&location(&sent));
    let browser = api.anonymous().header("Cookie", &cookie(&sent));
    let url = setup.lands(&browser, &callback).await;
    assert!(url.starts_with(&format!("{REGISTRATION}&token=")), "{url}");
    let request = json!({"token": token(&url), "session_expires_in": 60});
    let verified = verify(&setup.client, request).await.ok();
    assert_eq!(verified.body["provider"], setup.name);
    assert_eq!(verified.body["provider_subject"], "1001");
    let factor = &verified.body["session"]["factors"][0];
    assert_eq!(factor["delivery_channel"], format!("{}_oauth", setup.name));
    verified.text_at("/user_id")
}

/// Signs an existing person in; returns the user.
async fn logs_in(setup: &ProviderSetup<'_>) -> String {
    let (url, _) = setup.landed().await;
    assert!(url.starts_with(&format!("{LOGIN}?token=")), "{url}");
    let verified = verify(&setup.client, json!({"token": token(&url)})).await;
    verified.ok().text_at("/user_id")
}

/// Asserts that the user has the link, and that the address is verified.
async fn is_linked(
    api: &Api,
    setup: &ProviderSetup<'_>,
    user: &str,
    subject: &str,
    email: &str,
) -> Response {
    let profile = api.test().get(&format!("/v1/auth/users/{user}")).await.ok();
    assert_eq!(profile.body["status"], "active");
    let emails = profile.body["emails"].as_array().unwrap();
    assert_eq!(emails.len(), 1, "{}", profile.text);
    assert_eq!(emails[0]["email"], email);
    assert_eq!(emails[0]["verified"], true);
    let links = profile.body["idp_providers"].as_array().unwrap();
    assert_eq!(links.len(), 1, "{}", profile.text);
    assert_eq!(links[0]["provider"], setup.name);
    assert_eq!(links[0]["provider_subject"], subject);
    profile
}

/// Code and state reach the App, which verifies them; the person is the one from before.
async fn own_callback(setup: &ProviderSetup<'_>, person: Person) {
    setup.server.signs_in(Some(person));
    let callback = setup.own().await;
    let verified = setup.verifies(&callback).await.ok();
    let user = &verified.body["user"];
    assert_eq!(user["email"], "ada@example.com");
    assert_eq!(user[setup.name]["subject"], "1001");
    let again = setup.verifies(&callback).await;
    again.refuses(400, "invalid_state", None);
}
