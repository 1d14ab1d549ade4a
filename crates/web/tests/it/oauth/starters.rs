//! Binding of sign-in tokens to their requester (M-2), and where a secret key lets the flow end (M-15), over HTTP.

use futures_util::future::join_all;
use serde_json::json;
use vestry_app::Principal;
use vestry_domain::Environment;

use super::{
    LOGIN, OWN, REGISTRATION, cookie, landed, lands, location, path, public_token, token, verify,
};
use crate::harness::{Api, Response, on_both};

on_both! {
    m_2_a_page_keeps_its_verifier
    m_2_a_token_handed_to_a_victim_is_useless
    m_2_the_right_verifier_after_five_wrong_ones_is_refused
    m_2_parallel_verifiers_are_counted_one_by_one
    m_2_a_challenge_may_be_required
    m_2_the_callers_state_is_returned
    m_15_the_apps_own_callback_is_a_setting
    m_15_the_response_says_that_the_callback_is_not_set
}

/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Begins with the secret key and a challenge, and returns the token.
async fn token_of_challenge(api: &Api) -> String {
    let query = format!("identity=verified&code_challenge={CHALLENGE}");
    let (url, _) = landed(api, &query).await;
    token(&url)
}

async fn verify_with(api: &Api, token: &str, verifier: &str) -> Response {
    let request = json!({"token": token, "code_verifier": verifier, "session_expires_in": 60});
    verify(&api.test(), request).await
}

async fn set(api: &Api, name: &str, value: &str) {
    let changes = [(name.to_owned(), value.to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &changes)
        .await
        .unwrap();
    // Keys are read again after a second.
    api.pass(1);
}

/// The flow of a login button: one link, whose token works with the verifier that the page has kept.
async fn m_2_a_page_keeps_its_verifier(api: &Api) {
    lands(api).await;
    let public = public_token(api, Environment::Test).await;
    let link = format!(
        "/v1/auth/oauth/test/begin?public_token={public}&redirect=true&identity=verified\
         &code_challenge={CHALLENGE}&code_challenge_method=S256&state=s1"
    );
    let sent = api.anonymous().get(&link).await;
    let browser = api.anonymous().header("Cookie", &cookie(&sent));
    let back = location(&browser.get(path(&location(&sent))).await);
    let landed = location(&browser.get(path(&back)).await);
    let (url, state) = landed.split_once("&state=").unwrap();
    assert!(url.starts_with(&format!("{REGISTRATION}&token=")), "{url}");
    assert_eq!(state, "s1");
    let verified = verify_with(api, &token(url), VERIFIER).await.ok();
    assert_eq!(verified.body["provider"], "test");
}

/// M-2: the attacker's token, in a page that sends its own visitor's verifier or none, or in an App that sends no verifiers.
async fn m_2_a_token_handed_to_a_victim_is_useless(api: &Api) {
    lands(api).await;
    let token = token_of_challenge(api).await;
    for further in [
        json!({}),
        json!({"code_verifier": null}),
        json!({"code_verifier": ""}),
        json!({"code_verifier": "v".repeat(43)}),
    ] {
        let mut request = json!({"token": token, "session_expires_in": 60});
        let further = further.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(further);
        let refused = verify(&api.test(), request).await;
        refused.refuses(400, "invalid_oauth_token", None);
        let unknown = verify(&api.test(), json!({"token": "x"})).await;
        assert_eq!(refused.body["error"], unknown.body["error"]);
    }
    verify_with(api, &token, VERIFIER).await.ok();
    // Begun without a challenge, so the page's own verifier reveals it.
    let (url, _) = landed(api, "identity=verified").await;
    let token = super::token(&url);
    let refused = verify_with(api, &token, VERIFIER).await;
    refused.refuses(400, "invalid_oauth_token", None);
}

async fn m_2_the_right_verifier_after_five_wrong_ones_is_refused(api: &Api) {
    lands(api).await;
    for wrong in [4, 5] {
        let token = token_of_challenge(api).await;
        for _ in 0..wrong {
            let refused = verify_with(api, &token, "wrong").await;
            refused.refuses(400, "invalid_oauth_token", None);
        }
        let right = verify_with(api, &token, VERIFIER).await;
        if wrong == 4 {
            right.ok();
        } else {
            right.refuses(400, "invalid_oauth_token", None);
        }
    }
}

/// M-2: of forty concurrent verifiers, wrong ones void the token before any later right one; of right ones a single one wins.
async fn m_2_parallel_verifiers_are_counted_one_by_one(api: &Api) {
    lands(api).await;
    for (verifier, winners) in [("wrong", 0), (VERIFIER, 1)] {
        let token = token_of_challenge(api).await;
        let all = (0..40).map(|_| verify_with(api, &token, verifier));
        let responses = join_all(all).await;
        let won = responses.iter().filter(|response| response.status == 200);
        assert_eq!(won.count(), winners);
        let late = verify_with(api, &token, VERIFIER).await;
        late.refuses(400, "invalid_oauth_token", None);
    }
}

async fn m_2_a_challenge_may_be_required(api: &Api) {
    lands(api).await;
    set(api, "require_code_challenge", "true").await;
    let public = public_token(api, Environment::Test).await;
    let begin = "/v1/auth/oauth/test/begin";
    for (client, query) in [
        (api.test(), String::new()),
        (api.anonymous(), format!("&public_token={public}")),
    ] {
        let path = format!("{begin}?identity=verified{query}");
        let refused = client.get(&path).await;
        refused.refuses(400, "missing_field", Some("code_challenge"));
        let path = format!("{path}&code_challenge={CHALLENGE}");
        client.get(&path).await.ok();
    }
    let sent = format!("{begin}?public_token={public}&redirect=true");
    let refused = api.anonymous().get(&sent).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text.contains("code_challenge"), "{}", refused.text);
    let own = format!("{begin}?redirect_uri={OWN}");
    api.test().get(&own).await.ok();
}

async fn m_2_the_callers_state_is_returned(api: &Api) {
    lands(api).await;
    for (identity, expected) in [
        (
            "denied",
            format!("{LOGIN}?error=access_denied&state=a%20b%26c"),
        ),
        (
            "error",
            format!("{LOGIN}?error=provider_unavailable&state=a%20b%26c"),
        ),
    ] {
        let (url, state) = landed(api, &format!("identity={identity}&state=a+b%26c")).await;
        assert_eq!(url, expected);
        assert!(
            state.starts_with("test-"),
            "the state in the response is the provider's"
        );
    }
    let (url, _) = landed(api, "identity=verified&state=a%20b%26c").await;
    let (_, state) = url.split_once("&state=").unwrap();
    assert_eq!(state, "a%20b%26c");
    // That is up to the App: `verify` knows the other one.
    let token = &url.split_once("token=").unwrap().1[..64];
    let refused = verify(&api.test(), json!({"token": token, "state": "a b&c"})).await;
    refused.refuses(400, "invalid_oauth_token", None);
}

/// M-15: `begin` and `verify` of variant B, as in the original document.
async fn m_15_the_apps_own_callback_is_a_setting(api: &Api) {
    lands(api).await;
    set(api, "oauth_test_redirect_uri", OWN).await;
    let begin = "/v1/auth/oauth/test/begin?identity=verified";
    let begun = api.test().get(begin).await.ok();
    let back = location(&api.anonymous().get(path(&begun.text_at("/url"))).await);
    let query = back.strip_prefix(&format!("{OWN}?code=")).unwrap();
    let (code, _) = query.split_once('&').unwrap();
    let request = json!({
        "code": code, "state": begun.text_at("/state"), "session_expires_in": 60,
    });
    let verified = verify(&api.test(), request).await.ok();
    assert_eq!(verified.body["user"]["test"]["email"], "ada@example.com");
    // Live has its own.
    let refused = api.live().get("/v1/auth/oauth/google/begin").await;
    refused.refuses(400, "provider_not_configured", None);
    set(
        api,
        "oauth_test_redirect_uri",
        "https://app.example.com/else",
    )
    .await;
    let refused = api.test().get(begin).await;
    let setting = Some("oauth_test_redirect_uri");
    refused.refuses(400, "redirect_url_not_allowed", setting);
}

/// M-15: a code and a state of a sign-in that ends here are refused with instructions. Nothing is used up, and no other caller learns of
/// it.
async fn m_15_the_response_says_that_the_callback_is_not_set(api: &Api) {
    lands(api).await;
    let begin = "/v1/auth/oauth/test/begin?identity=verified";
    let begun = api.test().get(begin).await.ok();
    let back = location(&api.anonymous().get(path(&begun.text_at("/url"))).await);
    let request = json!({"code": "x", "state": begun.text_at("/state")});
    let refused = verify(&api.test(), request.clone()).await;
    refused.refuses(400, "invalid_state", None);
    let message = refused.text_at("/error/message");
    assert!(message.contains("oauth_test_redirect_uri") && message.contains("redirect_uri"));
    for stranger in [api.live(), api.other_app().await] {
        let refused = verify(&stranger, request.clone()).await;
        refused.refuses(400, "invalid_state", None);
        assert_ne!(refused.text_at("/error/message"), message);
    }
    let landed = location(&api.anonymous().get(path(&back)).await);
    verify(&api.test(), json!({"token": token(&landed)}))
        .await
        .ok();
    let refused = verify(&api.test(), request).await;
    refused.refuses(400, "invalid_state", None);
    assert_ne!(refused.text_at("/error/message"), message);
}
