//! Attacks 15 and 18: man-in-the-middle attempts on sign-ins through identity providers.

use serde_json::json;
use vestry_app::Principal;
use vestry_contract::provider::evil::claim;
use vestry_contract::provider::{Callback, Person, Shape};
use vestry_domain::Environment;

use super::headers::{EVIL, HOSTS, claiming};
use crate::harness::{Api, Client, Options, Response, on_both};
use crate::oauth::setup::{ProviderSetup, provider_options, users};
use crate::oauth::{
    LOGIN, OWN, REGISTRATION, app_lands, cookie, lands, location, path, public_token, token,
};

on_both! { behind_a_proxy;
    attack_15_no_header_reaches_an_address_of_a_sign_in
    attack_18_a_state_belongs_to_one_app_one_provider_and_one_browser
    attack_18_a_code_is_single_use_and_bound_to_its_flow
    attack_18_two_providers_of_which_one_is_evil
}

/// The caller is a trusted proxy: even its headers do not name a host.
fn behind_a_proxy() -> Options {
    let mut options = provider_options();
    options.web.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()].into();
    options
}

fn invalid_state() -> String {
    format!("{LOGIN}?error=invalid_state")
}

/// Attack 15, O-1: the provider's callback and the landing URL are those that the operator and the App have registered, whatever the
/// headers of begin and callback say.
async fn attack_15_no_header_reaches_an_address_of_a_sign_in(api: &Api) {
    lands(api).await;
    let setup = ProviderSetup::at(api, "google", Shape::OpenId).await;
    let token = public_token(api, Environment::Test).await;
    let public = format!("PublicToken {token}");
    for headers in HOSTS.chunks(1).chain([HOSTS]) {
        let begin = "/v1/auth/oauth/google/begin";
        let begun = claiming(setup.client.clone(), headers)
            .get(begin)
            .await
            .ok();
        let page = api.anonymous().header("Authorization", &public);
        let asked = claiming(page.clone(), headers).get(begin).await.ok();
        let sent = claiming(page, headers)
            .get(&format!("{begin}?redirect=true"))
            .await;
        let browser = api.anonymous().header("Cookie", &cookie(&sent));
        for (url, browser) in [
            (begun.text_at("/url"), api.anonymous()),
            (asked.text_at("/redirect_url"), api.anonymous()),
            (location(&sent), browser),
        ] {
            comes_back(&setup, &url, &claiming(browser, headers)).await;
        }
    }
    // The service's own host name is one of them.
    let mut connection = api.connect().await;
    let head = setup.client.head("GET", "/v1/auth/oauth/google/begin", 0);
    let head = head.replacen("Host: id.example.com", &format!("Host: {EVIL}"), 1);
    connection.send(head.as_bytes()).await;
    let begun = Response::of(connection.receive().await.unwrap()).ok();
    comes_back(&setup, &begun.text_at("/url"), &api.anonymous()).await;
}

/// The provider receives only our callback; from there the browser lands where the App wants it.
async fn comes_back(setup: &ProviderSetup<'_>, url: &str, browser: &Client<'_>) {
    let callback = setup.respond(url);
    let registered = format!("https://id.example.com{}", setup.callback);
    assert_eq!(callback.redirect_uri, registered);
    let landed = setup.lands(browser, &callback).await;
    assert!(
        landed.starts_with(&format!("{REGISTRATION}&token=")),
        "{landed}"
    );
}

/// O-2, O-6: at a callback other than its own a state is unknown, and stays valid at its own.
async fn attack_18_a_state_belongs_to_one_app_one_provider_and_one_browser(api: &Api) {
    lands(api).await;
    let other = api
        .service
        .create_app(Principal::cli(), "Other")
        .await
        .unwrap();
    app_lands(api, &other).await;
    let (test, live) = (Environment::Test, Environment::Live);
    let own = ProviderSetup::at(api, "google", Shape::OpenId).await;
    let strangers = [
        ProviderSetup::of(api, &other, test, "google", Shape::OpenId).await,
        ProviderSetup::of(api, &api.app, live, "google", Shape::OpenId).await,
        ProviderSetup::at(api, "example", Shape::OpenId).await,
    ];
    let public = public_token(api, test).await;
    let link = format!("/v1/auth/oauth/google/begin?public_token={public}&redirect=true");
    let sent = api.anonymous().get(&link).await;
    let callback = own.respond(&location(&sent));
    let browser = api.anonymous().header("Cookie", &cookie(&sent));
    for stranger in &strangers {
        let refused = stranger.lands(&browser, &callback).await;
        assert_eq!(refused, invalid_state());
        let refused = stranger.verifies(&callback).await;
        refused.refuses(400, "invalid_state", None);
        assert_eq!(stranger.server.asked(stranger.server.token_path()), 0);
    }
    let stranger = api.anonymous().get(&link).await;
    let other_browser = api.anonymous().header("Cookie", &cookie(&stranger));
    for browser in [api.anonymous(), other_browser] {
        assert_eq!(own.lands(&browser, &callback).await, invalid_state());
    }
    for state in ["", "google-", &callback.state.to_uppercase()] {
        let made_up = Callback {
            state: state.to_owned(),
            ..callback.clone()
        };
        assert_eq!(own.lands(&browser, &made_up).await, invalid_state());
    }
    // It was for our callback and not for the App's, and vice versa.
    own.verifies(&callback)
        .await
        .refuses(400, "invalid_state", None);
    let apps_own = own.own().await;
    assert_eq!(own.lands(&browser, &apps_own).await, invalid_state());
    for stranger in &strangers[..2] {
        let refused = stranger.verifies(&apps_own).await;
        refused.refuses(400, "invalid_state", None);
    }
    assert_eq!(own.server.asked(own.server.token_path()), 0);

    own.verifies(&apps_own).await.ok();
    token(&own.lands(&browser, &callback).await);
    assert_eq!(own.lands(&browser, &callback).await, invalid_state());
}

/// O-3, O-4: a reused code, a code of another flow, an invalid code, and an id token of another flow; at our callback and at the App's own.
async fn attack_18_a_code_is_single_use_and_bound_to_its_flow(api: &Api) {
    lands(api).await;
    let setup = ProviderSetup::at(api, "google", Shape::OpenId).await;
    let browser = api.anonymous();
    let used = setup.respond(&setup.begin("").await.url);
    token(&setup.lands(&browser, &used).await);
    let made_up = Some("made-up".to_owned());
    let strangers = setup.respond(&setup.begin("").await.url).code;
    let strangers_own = setup.own().await.code;
    for (code, own_code) in [
        (used.code.clone(), used.code),
        (strangers, strangers_own),
        (made_up.clone(), made_up),
    ] {
        let mut callback = setup.respond(&setup.begin("").await.url);
        callback.code = code;
        let landed = setup.lands(&browser, &callback).await;
        assert_eq!(landed, format!("{LOGIN}?error=provider_refused"));
        let mut own = setup.own().await;
        own.code = own_code;
        let refused = setup.verifies(&own).await;
        refused.refuses(400, "invalid_oauth_token", None);
    }
    for nonce in ["", "of-another-flow"] {
        setup
            .server
            .spoils(move |draft| claim(draft, "nonce", json!(nonce)));
        let (landed, _) = setup.landed().await;
        assert_eq!(landed, format!("{LOGIN}?error=provider_refused"));
    }
    let mut nothing = setup.respond(&setup.begin("").await.url);
    nothing.code = None;
    let landed = setup.lands(&browser, &nothing).await;
    assert_eq!(landed, format!("{LOGIN}?error=provider_error"));
    assert_eq!(users(api).await, 0);
    setup.server.spoils_nothing();
    setup
        .sign_in(Person::new("1001", "ada@example.com"))
        .await
        .ok();
}

/// O-6: the honest provider's code never reaches the evil one, and what the evil one says in the honest one's name is rejected.
async fn attack_18_two_providers_of_which_one_is_evil(api: &Api) {
    lands(api).await;
    let honest = ProviderSetup::at(api, "google", Shape::OpenId).await;
    let evil = ProviderSetup::at(api, "evil", Shape::OpenId).await;
    let browser = api.anonymous();
    for query in [String::new(), format!("redirect_uri={OWN}")] {
        // The browser begins at the evil provider, which redirects it to the honest one with its own state in the URL.
        for named in [Some(honest.server.url().to_owned()), None] {
            let away = evil.begin(&query).await.url;
            let away = away.replacen(evil.server.url(), honest.server.url(), 1);
            let mut callback = honest.respond(&away);
            callback.iss = named;
            is_refused(&evil, &browser, &callback).await;
        }
        assert_eq!(evil.server.asked(evil.server.token_path()), 0);
        // The evil provider's code enters the honest one's flow, under either name.
        for named in [evil.server.url(), honest.server.url()] {
            let theirs = evil.respond(&evil.begin(&query).await.url);
            let mut callback = honest.respond(&honest.begin(&query).await.url);
            callback.code = theirs.code;
            callback.iss = Some(named.to_owned());
            is_refused(&honest, &browser, &callback).await;
        }
        assert_eq!(evil.server.asked(evil.server.token_path()), 0);
    }
    // Its tokens name the honest provider as their issuer.
    let name = json!(honest.server.url());
    evil.server
        .spoils(move |draft| claim(draft, "iss", name.clone()));
    let (landed, _) = evil.landed().await;
    assert_eq!(landed, format!("{LOGIN}?error=provider_refused"));
    assert_eq!(users(api).await, 0);
    // Neither flow is damaged.
    evil.server.spoils_nothing();
    for setup in [honest, evil] {
        let person = Person::new("1001", &format!("{}@example.com", setup.name));
        setup.sign_in(person).await.ok();
    }
}

/// Asserts the refusal at the callback that the provider was given, or by the App to which it brought the code.
async fn is_refused(setup: &ProviderSetup<'_>, browser: &Client<'_>, callback: &Callback) {
    if callback.redirect_uri == OWN {
        let refused = setup.verifies(callback).await;
        refused.refuses(400, "invalid_oauth_token", None);
    } else {
        assert_eq!(path(&callback.redirect_uri), setup.callback);
        let landed = setup.lands(browser, callback).await;
        assert_eq!(landed, format!("{LOGIN}?error=provider_refused"));
    }
}
