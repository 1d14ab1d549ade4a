//! Which pages may make calls and read the responses.

use vestry_domain::Environment;

use crate::harness::{Api, Client, Response, described, on_both};
use crate::oauth::{lands, public_token};

on_both! {
    m_25_a_page_of_any_origin_reads_a_key_set
    m_25_a_page_of_any_origin_begins_with_a_public_token
    m_25_a_browser_may_ask_before_it_sends_a_token
    m_25_no_page_reads_the_responses_of_a_secret_key
}

const BEGIN: &str = "/v1/auth/oauth/test/begin";

/// A client that sends a page's requests as a browser does.
fn page<'a>(client: Client<'a>) -> Client<'a> {
    client.header("Origin", "https://app.example.com")
}

/// A preflight request as a browser sends it.
async fn preflight(api: &Api, path: &str) -> Response {
    let browser = page(api.anonymous())
        .header("Access-Control-Request-Method", "GET")
        .header("Access-Control-Request-Headers", "authorization");
    browser.send("OPTIONS", path, None).await
}

#[track_caller]
fn is_open(response: &Response) {
    assert_eq!(
        response.header("access-control-allow-origin"),
        Some("*"),
        "{response:?}"
    );
    assert_eq!(response.header("access-control-allow-credentials"), None);
    let exposed = response
        .header("access-control-expose-headers")
        .unwrap_or_default();
    assert!(
        exposed.contains("Retry-After") && exposed.contains("X-Request-Id"),
        "{exposed}"
    );
}

#[track_caller]
fn is_closed(response: &Response) {
    for header in [
        "access-control-allow-origin",
        "access-control-allow-headers",
        "access-control-expose-headers",
    ] {
        assert_eq!(response.header(header), None, "{response:?}");
    }
}

async fn m_25_a_page_of_any_origin_reads_a_key_set(api: &Api) {
    let set = format!("/v1/auth/jwks/{}", api.app.id);
    // With the credentials that a page's own client always sends, and without any.
    for client in [
        page(api.anonymous()),
        api.anonymous(),
        page(api.anonymous()).header("Authorization", "Bearer a-foreign-token"),
    ] {
        let found = client.get(&set).await.ok();
        is_open(&found);
        assert_eq!(found.header("cache-control"), Some("public, max-age=60"));
    }
    for (path, status) in [
        (format!("{set}?environment=staging"), 400),
        ("/v1/auth/jwks/unknown".to_owned(), 404),
        (
            "/v1/auth/jwks/app_000000000000000000000000000".to_owned(),
            404,
        ),
    ] {
        let refused = page(api.anonymous()).get(&path).await;
        assert_eq!(refused.status, status, "{path}: {}", refused.text);
        is_open(&refused);
    }
    let refused = page(api.anonymous()).delete(&set, None).await;
    refused.refuses(405, "method_not_allowed", None);
    is_open(&refused);
}

async fn m_25_a_page_of_any_origin_begins_with_a_public_token(api: &Api) {
    lands(api).await;
    let token = public_token(api, Environment::Test).await;
    let with_token = page(api.anonymous()).header("Authorization", &format!("PublicToken {token}"));
    is_open(&with_token.get(BEGIN).await.ok());
    is_open(
        &page(api.anonymous())
            .get(&format!("{BEGIN}?public_token={token}"))
            .await
            .ok(),
    );
    // A page must be able to read its own errors.
    let elsewhere = with_token
        .get(&format!("{BEGIN}?login_redirect_url=https://evil.example"))
        .await;
    elsewhere.refuses(400, "redirect_url_not_allowed", Some("login_redirect_url"));
    is_open(&elsewhere);
    let without = page(api.anonymous()).get(BEGIN).await;
    without.refuses(401, "missing_api_key", None);
    is_open(&without);
    for wrong in ["PublicToken pk_test_x", "PublicToken", "Basic eDp5"] {
        let refused = page(api.anonymous()).header("Authorization", wrong);
        let refused = refused.get(BEGIN).await;
        refused.refuses(401, "invalid_api_key", None);
        is_open(&refused);
    }
}

async fn m_25_a_browser_may_ask_before_it_sends_a_token(api: &Api) {
    for path in [BEGIN.to_owned(), format!("/v1/auth/jwks/{}", api.app.id)] {
        let asked = preflight(api, &path).await;
        assert_eq!((asked.status, asked.text.as_str()), (204, ""));
        assert_eq!(asked.header("access-control-allow-origin"), Some("*"));
        assert_eq!(asked.header("access-control-allow-methods"), Some("GET"));
        assert_eq!(
            asked.header("access-control-allow-headers"),
            Some("Authorization")
        );
        assert_eq!(asked.header("access-control-max-age"), Some("7200"));
        assert_eq!(asked.header("access-control-allow-credentials"), None);
    }
    // OPTIONS alone is a method like any other.
    let set = format!("/v1/auth/jwks/{}", api.app.id);
    let other = api.anonymous().send("OPTIONS", &set, None).await;
    other.refuses(405, "method_not_allowed", None);
}

/// Neither on calls that accept only a secret key, nor where one was sent to a call that also accepts a public token.
async fn m_25_no_page_reads_the_responses_of_a_secret_key(api: &Api) {
    lands(api).await;
    is_closed(&page(api.test()).get(BEGIN).await.ok());
    for wrong in ["Bearer sk_test_x", "bearer", "BEARER  x", " Bearer x"] {
        let refused = page(api.anonymous()).header("Authorization", wrong);
        let refused = refused.get(BEGIN).await;
        refused.refuses(401, "invalid_api_key", None);
        is_closed(&refused);
    }
    let keyed = described().all().filter(|operation| operation.is_keyed);
    for operation in
        keyed.filter(|operation| !operation.path.ends_with("/begin") || operation.method != "GET")
    {
        let asked = preflight(api, &operation.path).await;
        asked.refuses(401, "missing_api_key", None);
        is_closed(&asked);
        let page = page(api.test());
        is_closed(&page.send(&operation.method, &operation.path, None).await);
    }
}
