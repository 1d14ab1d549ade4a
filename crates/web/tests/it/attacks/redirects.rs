//! Attack 17: URLs that could be mistaken for the registered one.

#[path = "../../../../domain/src/redirect/tests/tricks.rs"]
mod tricks;

use serde_json::json;
use vestry_app::Principal;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};

use crate::harness::{Api, Client, on_both};
use crate::oauth::{cookie, location, path, public_token};
use tricks::{EXACT, NATIVE, NATIVE_TRICKS, PATTERN_URL, TRICKS};

on_both! {
    attack_17_a_sign_in_lands_nowhere_else
    m_24_a_native_app_gets_its_sign_in_back
}

/// O-1: every known trick against redirect lists is refused before the browser leaves, with the parameter's name and no redirect.
///
/// Tested with a secret key, and with a public token as far as it may name a URL.
async fn attack_17_a_sign_in_lands_nowhere_else(api: &Api) {
    let world = World::new(api.app.id, Environment::Test);
    for kind in [RedirectKind::Login, RedirectKind::Registration] {
        for url in [EXACT, PATTERN_URL].iter().chain(&NATIVE) {
            let url = *url;
            let added =
                api.service
                    .add_redirect_url(Principal::cli(), world, kind, url, url == EXACT);
            added.await.unwrap();
        }
    }
    let token = public_token(api, Environment::Test).await;
    let page = api
        .anonymous()
        .header("Authorization", &format!("PublicToken {token}"));
    let (backend, landings) = (
        api.test(),
        ["login_redirect_url", "registration_redirect_url"],
    );
    for parameter in landings {
        takes_none(&page, parameter).await;
        takes_none(&backend, parameter).await;
        for url in [EXACT, "https://shop.example.com/callback"] {
            lands(api, parameter, url).await;
        }
    }
    takes_none(&backend, "redirect_uri").await;
}

fn begin(parameter: &str, url: &str, identity: &str) -> String {
    let encoded: String = url.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!("/v1/auth/oauth/test/begin?redirect=true&identity={identity}&{parameter}={encoded}")
}

async fn takes_none(client: &Client<'_>, parameter: &str) {
    // An empty query value is not a trick: the default applies.
    let tricks = TRICKS.iter().chain(NATIVE_TRICKS);
    for trick in tricks.filter(|trick| !trick.is_empty()) {
        let refused = client.get(&begin(parameter, trick, "verified")).await;
        let code = if trick.contains('\0') {
            "invalid_field"
        } else {
            "redirect_url_not_allowed"
        };
        let found = (refused.status, refused.code(), refused.param());
        assert_eq!(found, (400, code, Some(parameter)), "{trick:?}");
        assert_eq!(refused.header("location"), None, "{trick:?}");
        assert_eq!(refused.header("set-cookie"), None, "{trick:?}");
    }
}

/// Valid URLs pass: a new person lands on the registration URL, one who declines on the login URL.
async fn lands(api: &Api, parameter: &str, url: &str) {
    let (identity, ending) = if parameter == "registration_redirect_url" {
        ("verified", "?token=")
    } else {
        ("denied", "?error=access_denied")
    };
    let sent = api.test().get(&begin(parameter, url, identity)).await;
    let browser = api.anonymous().header("Cookie", &cookie(&sent));
    let back = location(&browser.get(path(&location(&sent))).await);
    let landed = location(&browser.get(path(&back)).await);
    assert!(landed.starts_with(&format!("{url}{ending}")), "{landed}");
}

/// RFC 8252, section 7: by a private-use scheme, or on any loopback port.
async fn m_24_a_native_app_gets_its_sign_in_back(api: &Api) {
    let world = World::new(api.app.id, Environment::Test);
    for kind in [RedirectKind::Login, RedirectKind::Registration] {
        for url in NATIVE {
            let added = api
                .service
                .add_redirect_url(Principal::cli(), world, kind, url, false);
            added.await.unwrap();
        }
        let added = api
            .service
            .add_redirect_url(Principal::cli(), world, kind, EXACT, true);
        added.await.unwrap();
    }
    let urls = [
        "com.example.app:/callback",
        "http://127.0.0.1/callback",
        "http://127.0.0.1:49152/callback",
    ];
    for (number, url) in urls.into_iter().enumerate() {
        lands(api, "login_redirect_url", url).await;
        let somebody_new = format!("verified&email=new-{number}@example.com");
        let begin = begin("registration_redirect_url", url, &somebody_new);
        let sent = api.test().get(&begin).await;
        let browser = api.anonymous().header("Cookie", &cookie(&sent));
        let back = location(&browser.get(path(&location(&sent))).await);
        let landed = location(&browser.get(path(&back)).await);
        let token = landed.strip_prefix(&format!("{url}?token="));
        let verify = json!({"token": token.unwrap_or_else(|| panic!("{landed}"))});
        api.test().post("/v1/auth/oauth/verify", verify).await.ok();
    }
    let by_name = "http://localhost:49152/callback";
    let begin = begin("login_redirect_url", by_name, "verified");
    let refused = api.test().get(&begin).await;
    refused.refuses(400, "redirect_url_not_allowed", Some("login_redirect_url"));
}
