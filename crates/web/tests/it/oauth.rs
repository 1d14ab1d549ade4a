//! Sign-in through identity providers over HTTP, with the provider that is built into every test environment. The modules below cover
//! others.

pub(crate) mod setup;

mod both_keys;
mod evil;
mod pages;
mod shapes;
mod starters;

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_domain::World;
use vestry_domain::api_key::ApiKeyKind;
use vestry_domain::app::App;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, Secret};

use crate::flows::signed_in;
use crate::harness::{Api, Client, Response, on_both};

on_both! {
    a_backend_signs_a_user_in
    a_page_signs_a_user_in_with_a_link
    an_app_runs_its_own_callback
    the_page_of_the_test_provider_asks_who_it_is
    the_test_provider_can_simulate_every_response
    verify_says_what_is_wrong
    begin_says_what_is_wrong
    s_17_live_keys_have_no_test_provider
    a_link_is_shown_searched_and_removed
    apple_posts_its_response
    attack_2_unverified_addresses_join_no_user
    attack_15_no_header_reaches_a_redirect
    attack_18_a_sign_in_stays_in_its_browser
    attack_27_the_database_holds_no_token
}

pub(crate) const LOGIN: &str = "https://app.example.com/in";
pub(crate) const REGISTRATION: &str = "https://app.example.com/new?a=b";
pub(crate) const OWN: &str = "https://app.example.com/own";
const VERIFY: &str = "/v1/auth/oauth/verify";

/// Registers landing URLs in both environments.
pub(crate) async fn lands(api: &Api) {
    app_lands(api, &api.app).await;
}

/// The same for any App.
pub(crate) async fn app_lands(api: &Api, app: &App) {
    for environment in Environment::ALL {
        let world = World::new(app.id, environment);
        for (kind, url, default) in [
            (RedirectKind::Login, LOGIN, true),
            (RedirectKind::Registration, REGISTRATION, true),
            (RedirectKind::Login, OWN, false),
        ] {
            let added = api
                .service
                .add_redirect_url(Principal::cli(), world, kind, url, default);
            added.await.unwrap();
        }
    }
}

pub(crate) async fn public_token(api: &Api, environment: Environment) -> String {
    api.key_of(&api.app, ApiKeyKind::Public, environment, &[])
        .await
}

/// The path of a URL of the service.
#[track_caller]
pub(crate) fn path(url: &str) -> &str {
    url.strip_prefix("https://id.example.com")
        .unwrap_or_else(|| panic!("{url} is not ours"))
}

/// The URL to which a response redirects the browser.
#[track_caller]
pub(crate) fn location(response: &Response) -> String {
    destination(response, 302)
}

/// The same with another status.
#[track_caller]
fn destination(response: &Response, status: u16) -> String {
    assert_eq!(response.status, status, "{}", response.text);
    assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
    response.header("location").unwrap().to_owned()
}

/// The cookie that a response sets, in the form in which the browser returns it.
#[track_caller]
pub(crate) fn cookie(response: &Response) -> String {
    let (cookie, _) = response
        .header("set-cookie")
        .unwrap()
        .split_once(';')
        .unwrap();
    cookie.to_owned()
}

#[track_caller]
pub(crate) fn token(url: &str) -> String {
    let (_, token) = url
        .split_once("token=")
        .unwrap_or_else(|| panic!("no token: {url}"));
    assert!(token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    token.to_owned()
}

/// Begins with the secret key and follows the browser to its landing URL.
pub(crate) async fn landed(api: &Api, query: &str) -> (String, String) {
    let begun = api
        .test()
        .get(&format!("/v1/auth/oauth/test/begin?{query}"))
        .await
        .ok();
    let state = begun.text_at("/state");
    let browser = api.anonymous();
    let back = location(&browser.get(path(&begun.text_at("/url"))).await);
    (location(&browser.get(path(&back)).await), state)
}

/// The id of a user's link with the built-in provider.
pub(crate) async fn linked(api: &Api) -> String {
    lands(api).await;
    let (url, _) = landed(api, "identity=verified&email=linked%40example.com").await;
    let verified = verify(&api.test(), json!({"token": token(&url)}))
        .await
        .ok();
    let path = format!("/v1/auth/users/{}", verified.text_at("/user_id"));
    api.test()
        .get(&path)
        .await
        .ok()
        .text_at("/idp_providers/0/id")
}

pub(crate) async fn verify(client: &Client<'_>, body: Value) -> Response {
    client.post(VERIFY, body).await
}

/// The whole flow with a secret key: JSON, the provider, our callback, the token.
async fn a_backend_signs_a_user_in(api: &Api) {
    lands(api).await;
    let (url, state) = landed(api, "identity=verified").await;
    assert!(
        url.starts_with("https://app.example.com/new?a=b&token="),
        "{url}"
    );
    let request = json!({"token": token(&url), "state": state, "session_expires_in": 60});
    let first = verify(&api.test(), request.clone()).await.ok();
    assert_eq!(first.body["provider"], "test");
    assert_eq!(
        first.body["session"]["factors"][0]["delivery_channel"],
        "test_oauth"
    );
    assert_eq!(first.body["session"]["factors"][0]["type"], "oauth");
    assert_eq!(first.body["session"]["user_id"], first.body["user_id"]);
    let access = first.text_at("/idp_session/idp/access_token");
    assert!(access.starts_with("test-access-"));
    verify(&api.test(), request)
        .await
        .refuses(400, "invalid_oauth_token", None);
    let session = json!({"session_token": first.text_at("/session_token")});
    api.test()
        .post("/v1/auth/sessions/verify", session)
        .await
        .ok();

    let (url, _) = landed(api, "identity=verified").await;
    assert!(
        url.starts_with("https://app.example.com/in?token="),
        "{url}"
    );
    let second = verify(&api.test(), json!({"token": token(&url)}))
        .await
        .ok();
    assert_eq!(second.body["user_id"], first.body["user_id"]);
    assert_eq!(second.body["session"], Value::Null);
    assert_eq!(second.body["session_token"], "");
}

/// One static link with a public token; the cookie binds the flow to the browser.
async fn a_page_signs_a_user_in_with_a_link(api: &Api) {
    lands(api).await;
    let public = public_token(api, Environment::Test).await;
    let link =
        format!("/v1/auth/oauth/test/begin?public_token={public}&redirect=true&identity=verified");
    let sent = api.anonymous().get(&link).await;
    let cookie = sent.header("set-cookie").unwrap().to_owned();
    assert!(cookie.starts_with("__Host-vestry-oauth-"), "{cookie}");
    assert!(
        cookie.ends_with("; Max-Age=600; Path=/; HttpOnly; Secure; SameSite=Lax"),
        "{cookie}"
    );
    let cookie = self::cookie(&sent);
    let browser = api
        .anonymous()
        .header("Cookie", &format!("other=1; {cookie}"));
    let back = location(&browser.get(path(&location(&sent))).await);
    let response = browser.get(path(&back)).await;
    let gone = response.header("set-cookie").unwrap();
    assert!(gone.contains("=; Max-Age=0"), "{gone}");
    let request = json!({"token": token(&location(&response)), "session_expires_in": 60});
    verify(&api.test(), request).await.ok();

    // As JSON, for a page that navigates there itself.
    let headed = api
        .anonymous()
        .header("Authorization", &format!("PublicToken {public}"));
    for (client, query) in [
        (headed, String::new()),
        (api.anonymous(), format!("?public_token={public}")),
    ] {
        let begun = client
            .get(&format!("/v1/auth/oauth/test/begin{query}"))
            .await
            .ok();
        assert_eq!(begun.header("access-control-allow-origin"), Some("*"));
        assert_eq!(begun.body.as_object().unwrap().len(), 1);
        assert!(begun.text_at("/redirect_url").contains("state=test-"));
    }
}

/// Code and state reach the App, which verifies them.
async fn an_app_runs_its_own_callback(api: &Api) {
    lands(api).await;
    let begun = api
        .test()
        .get(&format!(
            "/v1/auth/oauth/test/begin?redirect_uri={OWN}&identity=verified"
        ))
        .await
        .ok();
    let back = location(&api.anonymous().get(path(&begun.text_at("/url"))).await);
    let query = back.strip_prefix(&format!("{OWN}?")).unwrap();
    let parameters: Vec<(&str, &str)> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .collect();
    let [("code", code), ("state", state), ("iss", issuer)] = parameters[..] else {
        panic!("{back}");
    };
    assert_eq!(state, begun.text_at("/state"));
    let request = json!({"code": code, "state": state, "iss": issuer, "session_expires_in": 60});
    let verified = verify(&api.test(), request.clone()).await.ok();
    let user = &verified.body["user"];
    assert_eq!(user["email"], "ada@example.com");
    assert_eq!(user["test"]["email"], "ada@example.com");
    assert_eq!(user["test"]["name"], "Ada Lovelace");
    assert_eq!(verified.body["session"]["user_id"], user["id"]);
    verify(&api.test(), request)
        .await
        .refuses(400, "invalid_state", None);
    let other = json!({"code": code, "state": "test-unknown"});
    verify(&api.test(), other)
        .await
        .refuses(400, "invalid_state", None);
}

/// Without a choice there is a page, without scripts, as long as the sign-in is pending.
async fn the_page_of_the_test_provider_asks_who_it_is(api: &Api) {
    lands(api).await;
    let begun = api.test().get("/v1/auth/oauth/test/begin").await.ok();
    let url = begun.text_at("/url");
    let page = api.anonymous().get(path(&url)).await.ok();
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("script"));
    for choice in ["verified", "unverified", "changed", "denied", "error"] {
        assert!(page.text.contains(&format!("value=\"{choice}\"")));
    }
    let chosen = format!("{}&identity=verified&email=bob%40example.com", path(&url));
    let back = location(&api.anonymous().get(&chosen).await);
    // Each is answered once.
    api.anonymous()
        .get(&chosen)
        .await
        .refuses(404, "not_found", Some("sign_in"));
    api.anonymous()
        .get(path(&url))
        .await
        .refuses(404, "not_found", Some("sign_in"));
    let landed = location(&api.anonymous().get(path(&back)).await);
    let verified = verify(&api.test(), json!({"token": token(&landed)}))
        .await
        .ok();
    let user = api
        .test()
        .get(&format!("/v1/auth/users/{}", verified.text_at("/user_id")))
        .await
        .ok();
    assert_eq!(user.body["emails"][0]["email"], "bob@example.com");
    let unknown = format!(
        "/v1/auth/oauth/test/oauthcb_{}/authorize?state=x",
        "0".repeat(27)
    );
    api.anonymous()
        .get(&unknown)
        .await
        .refuses(404, "not_found", Some("sign_in"));
}

/// Every response that a developer may want to trigger.
async fn the_test_provider_can_simulate_every_response(api: &Api) {
    lands(api).await;
    let (url, _) = landed(api, "identity=verified&subject=ada").await;
    let ada = verify(&api.test(), json!({"token": token(&url)}))
        .await
        .ok();
    let (url, _) = landed(api, "identity=changed&subject=ada").await;
    let changed = verify(&api.test(), json!({"token": token(&url)}))
        .await
        .ok();
    assert_eq!(changed.body["user_id"], ada.body["user_id"]);
    let (url, _) = landed(api, "identity=unverified&subject=eve").await;
    let refused = verify(&api.test(), json!({"token": token(&url)})).await;
    refused.refuses(409, "duplicate", Some("email"));
    let (url, _) = landed(api, "identity=denied").await;
    assert_eq!(url, format!("{LOGIN}?error=access_denied"));
    let (url, _) = landed(api, "identity=error").await;
    assert_eq!(url, format!("{LOGIN}?error=provider_unavailable"));
}

async fn verify_says_what_is_wrong(api: &Api) {
    lands(api).await;
    let test = api.test();
    for (request, code, param) in [
        (json!({}), "missing_field", Some("token")),
        (json!({"token": ""}), "missing_field", Some("token")),
        (json!({"code": "x"}), "missing_field", Some("state")),
        (
            json!({"token": "x", "code": "y"}),
            "invalid_field",
            Some("code"),
        ),
        (json!({"token": 1}), "invalid_field", Some("token")),
        (
            json!({"code": "x", "state": "y", "code_verifier": "z"}),
            "invalid_field",
            Some("code_verifier"),
        ),
        (
            json!({"token": "x", "session_expires_in": 4}),
            "invalid_field",
            Some("session_expires_in"),
        ),
        (json!({"token": "x"}), "invalid_oauth_token", None),
        (json!({"code": "x", "state": "y"}), "invalid_state", None),
    ] {
        verify(&test, request).await.refuses(400, code, param);
    }
    // A refused session does not cost the token.
    let (url, _) = landed(api, "identity=verified").await;
    let token = token(&url);
    let request = json!({"token": token, "session_token": "x"});
    verify(&test, request)
        .await
        .refuses(401, "invalid_session", None);
    let other = api.other_app().await;
    verify(&other, json!({"token": token}))
        .await
        .refuses(400, "invalid_oauth_token", None);
    verify(&test, json!({"token": token})).await.ok();
}

async fn begin_says_what_is_wrong(api: &Api) {
    let begin = |query: &str| format!("/v1/auth/oauth/{query}");
    let test = api.test();
    let missing = test.get(&begin("test/begin")).await;
    missing.refuses(400, "redirect_url_missing", Some("login_redirect_url"));
    lands(api).await;
    for (query, status, code, param) in [
        ("google/begin", 400, "provider_not_configured", None),
        ("Google/begin", 400, "provider_not_configured", None),
        (
            "test/begin?login_redirect_url=https://evil.example/",
            400,
            "redirect_url_not_allowed",
            Some("login_redirect_url"),
        ),
        (
            "test/begin?redirect_uri=https://evil.example/",
            400,
            "redirect_url_not_allowed",
            Some("redirect_uri"),
        ),
        (
            "test/begin?redirect=maybe",
            400,
            "invalid_field",
            Some("redirect"),
        ),
        (
            "test/begin?code_challenge=x",
            400,
            "invalid_field",
            Some("code_challenge"),
        ),
        (
            "test/begin?code_challenge_method=plain",
            400,
            "invalid_field",
            Some("code_challenge_method"),
        ),
        (
            "test/begin?code_challenge_method=S256",
            400,
            "missing_field",
            Some("code_challenge"),
        ),
        (
            "test/begin?state=%C3%A9",
            400,
            "invalid_field",
            Some("state"),
        ),
        (
            "test/begin?state=x&redirect_uri=https://app.example.com/own",
            400,
            "invalid_field",
            Some("state"),
        ),
        (
            "test/begin?identity=root",
            400,
            "invalid_field",
            Some("identity"),
        ),
    ] {
        test.get(&begin(query)).await.refuses(status, code, param);
    }
    let public = public_token(api, Environment::Test).await;
    for query in [
        format!("test/begin?public_token={public}x"),
        format!("test/begin?public_token={}", api.test_key()),
    ] {
        let refused = api.anonymous().get(&begin(&query)).await;
        refused.refuses(401, "invalid_api_key", None);
    }
    let refused = api.anonymous().get(&begin("test/begin")).await;
    refused.refuses(401, "missing_api_key", None);
    // A public token opens nothing else, in either form, even right after it was used.
    api.anonymous()
        .get(&begin(&format!("test/begin?public_token={public}")))
        .await
        .ok();
    let client = api.with_key(&public);
    client
        .get("/v1/wallets/list?user_id=x")
        .await
        .refuses(401, "invalid_api_key", None);
    verify(&client, json!({"token": "x"}))
        .await
        .refuses(401, "invalid_api_key", None);
}

/// S-17: none of it exists for a live key.
async fn s_17_live_keys_have_no_test_provider(api: &Api) {
    lands(api).await;
    let refused = api.live().get("/v1/auth/oauth/test/begin").await;
    refused.refuses(404, "not_found", Some("provider"));
    let public = public_token(api, Environment::Live).await;
    let path = format!("/v1/auth/oauth/test/begin?public_token={public}");
    api.anonymous()
        .get(&path)
        .await
        .refuses(404, "not_found", Some("provider"));
}

async fn a_link_is_shown_searched_and_removed(api: &Api) {
    lands(api).await;
    let test = api.test();
    let (url, _) = landed(api, "identity=verified&subject=ada-1").await;
    let verified = verify(
        &test,
        json!({"token": token(&url), "session_expires_in": 60}),
    )
    .await
    .ok();
    let id = verified.text_at("/user_id");
    let user = test.get(&format!("/v1/auth/users/{id}")).await.ok();
    let link = &user.body["idp_providers"][0];
    assert_eq!(link["provider"], "test");
    assert_eq!(link["provider_subject"], "ada-1");
    assert_eq!(link["idp_type"], "oauth");
    assert_eq!(link["method_id"], user.body["emails"][0]["id"]);
    assert_eq!(link["method_type"], "email");
    let search = |name: &str| {
        let field = json!({"field": "idp_provider", "operator": "eq", "value": name});
        json!({"filters": {"operator": "AND", "fields": [field]}})
    };
    let found = test
        .post("/v1/auth/users/search", search("test"))
        .await
        .ok();
    assert_eq!(found.body["total_count"], 1);
    assert_eq!(found.body["users"][0]["idp_providers"][0]["id"], link["id"]);
    let found = test
        .post("/v1/auth/users/search", search("google"))
        .await
        .ok();
    assert_eq!(found.body["total_count"], 0);
    let link = link["id"].as_str().unwrap();
    let path = format!("/v1/auth/users/idp_providers/{link}/delete");
    api.live()
        .delete(&path, None)
        .await
        .refuses(404, "not_found", Some("idp_provider"));
    let gone = test.delete(&path, None).await.ok();
    assert_eq!(
        gone.body["message"],
        "Successfully deleted user idp_provider"
    );
    assert_eq!(gone.body["user_id"], id.as_str());
    test.delete(&path, None)
        .await
        .refuses(404, "not_found", Some("idp_provider"));
    // S-6: the session that rested on it is over.
    let session = json!({"session_token": verified.text_at("/session_token")});
    let refused = test.post("/v1/auth/sessions/verify", session).await;
    refused.refuses(401, "invalid_session", None);
    // The only sign-in method stays.
    let (url, _) = landed(api, "identity=unverified&email=free%40example.com").await;
    let alone = verify(&test, json!({"token": token(&url)})).await.ok();
    let user = test
        .get(&format!("/v1/auth/users/{}", alone.text_at("/user_id")))
        .await
        .ok();
    let link = user.text_at("/idp_providers/0/id");
    let path = format!("/v1/auth/users/idp_providers/{link}/delete");
    test.delete(&path, None)
        .await
        .refuses(409, "last_sign_in_method", None);
}

/// O-13: a form gets a 303; other bodies are ignored.
async fn apple_posts_its_response(api: &Api) {
    lands(api).await;
    let begun = api
        .test()
        .get("/v1/auth/oauth/test/begin?identity=verified")
        .await
        .ok();
    let back = location(&api.anonymous().get(path(&begun.text_at("/url"))).await);
    let (callback, form) = path(&back).split_once('?').unwrap();
    let browser = api.anonymous();
    let json = browser.post(callback, json!({"state": "x"})).await;
    json.refuses(415, "unsupported_media_type", None);
    let twice = format!("{form}&state=x");
    let form_of = |body: String| {
        let browser = browser
            .clone()
            .header("Content-Type", "application/x-www-form-urlencoded");
        async move { browser.send_bytes("POST", callback, body.as_bytes()).await }
    };
    form_of(twice)
        .await
        .refuses(400, "invalid_field", Some("state"));
    let response = form_of(form.to_owned()).await;
    token(&destination(&response, 303));
}

/// Attack 2 over HTTP: an address that the provider has not verified joins no user, in any spelling.
async fn attack_2_unverified_addresses_join_no_user(api: &Api) {
    lands(api).await;
    let victim = signed_in(api, "victim@example.com").await;
    for email in ["victim@example.com", "VICTIM%40example.com"] {
        let (url, _) = landed(
            api,
            &format!("identity=unverified&email={email}&subject=evil"),
        )
        .await;
        let refused = verify(&api.test(), json!({"token": token(&url)})).await;
        refused.refuses(409, "duplicate", Some("email"));
    }
    let session = json!({"session_token": victim.text_at("/session_token")});
    api.test()
        .post("/v1/auth/sessions/verify", session)
        .await
        .ok();
}

/// Attack 15: `Host` and related headers appear in no redirect.
async fn attack_15_no_header_reaches_a_redirect(api: &Api) {
    lands(api).await;
    let evil = "evil.example";
    let mut client = api.test();
    for name in [
        "X-Forwarded-Host",
        "X-Original-Host",
        "X-Host",
        "Forwarded",
        "X-Forwarded-Server",
        "Origin",
        "Referer",
    ] {
        client = client.header(name, evil);
    }
    let begun = client
        .get("/v1/auth/oauth/test/begin?identity=verified")
        .await
        .ok();
    assert!(!begun.text.contains(evil), "{}", begun.text);
    let back = location(&client.get(path(&begun.text_at("/url"))).await);
    let landed = location(&client.get(path(&back)).await);
    assert!(!back.contains(evil) && !landed.contains(evil));
}

/// Attack 18: only the browser that was redirected away can return; other attempts do not cost it the sign-in.
async fn attack_18_a_sign_in_stays_in_its_browser(api: &Api) {
    lands(api).await;
    let public = public_token(api, Environment::Test).await;
    let link =
        format!("/v1/auth/oauth/test/begin?public_token={public}&redirect=true&identity=verified");
    let sent = api.anonymous().get(&link).await;
    let cookie = cookie(&sent);
    let back = location(&api.anonymous().get(path(&location(&sent))).await);
    let (name, _) = cookie.split_once('=').unwrap();
    for victim in [
        api.anonymous(),
        api.anonymous()
            .header("Cookie", &format!("{name}={}", "0".repeat(48))),
        api.anonymous().header(
            "Cookie",
            &format!("{}={}", &name["__Host-".len()..], &cookie[name.len() + 1..]),
        ),
    ] {
        let refused = location(&victim.get(path(&back)).await);
        assert_eq!(refused, format!("{LOGIN}?error=invalid_state"));
    }
    let browser = api.anonymous().header("Cookie", &cookie);
    token(&location(&browser.get(path(&back)).await));
    let again = location(&browser.get(path(&back)).await);
    assert_eq!(again, format!("{LOGIN}?error=invalid_state"));
}

/// Attack 27: a database dump holds no state, code, token, cookie or client secret of the sign-ins.
async fn attack_27_the_database_holds_no_token(api: &Api) {
    lands(api).await;
    let world = World::new(api.app.id, Environment::Test);
    let secret = Secret::new("the-client-secret-of-acme".to_owned());
    let settings = vestry_domain::provider::ConnectionSettings {
        issuer: Some("https://id.acme.example".to_owned()),
        ..Default::default()
    };
    let name = "acme".parse().unwrap();
    let set = api
        .service
        .set_provider(Principal::cli(), world, name, "vestry", &secret, settings);
    set.await.unwrap();
    let public = public_token(api, Environment::Test).await;
    let link =
        format!("/v1/auth/oauth/test/begin?public_token={public}&redirect=true&identity=verified");
    let sent = api.anonymous().get(&link).await;
    let cookie = cookie(&sent);
    let away = location(&sent);
    let back = location(&api.anonymous().get(path(&away)).await);
    let mut needles = vec![secret.expose().clone(), public];
    needles.push(cookie.split_once('=').unwrap().1.to_owned());
    for (name, value) in back
        .split_once('?')
        .unwrap()
        .1
        .split('&')
        .filter_map(|pair| pair.split_once('='))
    {
        if name != "iss" {
            needles.push(value.to_owned());
        }
    }
    holds_none_of(api, &needles).await;
    let browser = api.anonymous().header("Cookie", &cookie);
    let landed = location(&browser.get(path(&back)).await);
    needles.push(token(&landed));
    needles.push("test-access-".to_owned());
    holds_none_of(api, &needles).await;
}

#[track_caller]
fn holds(dump: &[u8], needle: &str) -> bool {
    let hex: String = needle.bytes().map(|byte| format!("{byte:02x}")).collect();
    [needle.to_owned(), hex.to_uppercase(), hex]
        .iter()
        .any(|form| {
            dump.windows(form.len())
                .any(|window| window == form.as_bytes())
        })
}

async fn holds_none_of(api: &Api, needles: &[String]) {
    let dump = api.place.dump().await;
    assert!(holds(&dump, "oauthcb_"), "the dump is one");
    for needle in needles {
        assert!(!holds(&dump, needle), "the dump holds {needle}");
    }
}
