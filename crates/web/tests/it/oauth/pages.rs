//! M-17: a person who follows a link to `begin` and is refused sees a page.

use vestry_app::Principal;
use vestry_domain::Environment;

use super::{cookie, lands, location, path, public_token, token, verify};
use crate::harness::{Api, Client, Response, on_both};

on_both! {
    m_17_finished_sign_ins_of_an_address_are_not_counted
    m_17_a_refused_browser_sees_a_page
}

async fn admits(api: &Api, most: u32) {
    let changes = [("oauth_failures_per_address".to_owned(), most.to_string())];
    api.service
        .set_app(Principal::cli(), api.app.id, &changes)
        .await
        .unwrap();
    api.pass(1);
}

/// Follows a link to `begin`.
async fn follows(browser: &Client<'_>, public: &str, query: &str) -> Response {
    let link = format!("/v1/auth/oauth/test/begin?redirect=true&public_token={public}{query}");
    browser.get(&link).await
}

#[track_caller]
fn is_page(response: &Response, status: u16, code: &str) {
    assert_eq!(response.status, status, "{}", response.text);
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(response.header(name), Some(value), "{name}");
    }
    let policy = response.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"));
    assert!(response.text.contains(code), "{}", response.text);
    assert!(
        response
            .text
            .contains(response.header("x-request-id").unwrap())
    );
    assert!(response.text.contains("<style>") && !response.text.contains("<script"));
    assert!(response.header("set-cookie").is_none() && response.header("location").is_none());
}

/// M-17: an office behind one address can sign in without limit; leaving sign-ins unfinished causes a delay.
async fn m_17_finished_sign_ins_of_an_address_are_not_counted(api: &Api) {
    lands(api).await;
    admits(api, 2).await;
    let public = public_token(api, Environment::Test).await;
    for _ in 0..4 {
        let sent = follows(&api.anonymous(), &public, "&identity=verified").await;
        let browser = api.anonymous().header("Cookie", &cookie(&sent));
        let back = location(&browser.get(path(&location(&sent))).await);
        let landed = location(&browser.get(path(&back)).await);
        let request = serde_json::json!({"token": token(&landed)});
        verify(&api.test(), request).await.ok();
    }
    for _ in 0..2 {
        location(&follows(&api.anonymous(), &public, "").await);
    }
    api.pass(100);
    let refused = follows(&api.anonymous(), &public, "").await;
    is_page(&refused, 429, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("500"));
    assert!(refused.text.contains("Wait 9 minutes"), "{}", refused.text);
    // A program gets JSON.
    let path = format!("/v1/auth/oauth/test/begin?public_token={public}");
    let refused = api.anonymous().get(&path).await;
    refused.refuses(429, "rate_limited", None);
    assert_eq!(refused.header("retry-after"), Some("500"));
    // A backend's own key is not limited by address.
    api.test().get("/v1/auth/oauth/test/begin").await.ok();
    api.pass(500);
    location(&follows(&api.anonymous(), &public, "").await);
}

/// M-17: the same holds for every other refusal, at the gate and behind it. Query values are shown as text.
async fn m_17_a_refused_browser_sees_a_page(api: &Api) {
    let public = public_token(api, Environment::Test).await;
    let browser = api.anonymous();
    let missing = follows(&browser, &public, "").await;
    is_page(&missing, 400, "redirect_url_missing");
    lands(api).await;
    let unknown = follows(&browser, "pk_test_%3Cscript%3E", "").await;
    is_page(&unknown, 401, "invalid_api_key");
    let elsewhere = "&login_redirect_url=https://evil.example/%3Cscript%3E";
    let elsewhere = follows(&browser, &public, elsewhere).await;
    is_page(&elsewhere, 400, "redirect_url_not_allowed");
    let twice = follows(&browser, &public, "&%3Cscript%3E=1&%3Cscript%3E=2").await;
    is_page(&twice, 400, "invalid_field");
    let other = "/v1/auth/oauth/google/begin?redirect=true";
    let other = browser.get(&format!("{other}&public_token={public}")).await;
    is_page(&other, 400, "provider_not_configured");
    let without_key = "/v1/auth/oauth/test/begin?redirect=true";
    is_page(&browser.get(without_key).await, 401, "missing_api_key");
    let live = public_token(api, Environment::Live).await;
    is_page(&follows(&browser, &live, "").await, 404, "not_found");
}
